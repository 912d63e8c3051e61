"""The style sheet of every page: light and dark, wide screens, phones, and paper."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5b6570; --paper: #fbfbfa;
  --card: #ffffff; --line: #dfe3e6; --zone: #c3c9ce; --floor: #e6e9ec; --yes: #00694d;
  --part: #8a5a00; --no: #a33b00; --open: #4c5660; --yes-bg: #e0f3ec; --part-bg: #fcefd3;
  --no-bg: #fbe3d8; --open-bg: #e9ecef; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --soft: #a0a9b1; --paper: #15181b;
  --card: #1e2226; --line: #343a40; --zone: #4d555c; --floor: #2d3238; --yes: #62d3ae;
  --part: #f2b84b; --no: #ff9a6b; --open: #b4bcc4; --yes-bg: #12352b; --part-bg: #3a2c0d;
  --no-bg: #43210f; --open-bg: #2b3035; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main, header, footer { max-width: 112rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.6rem; }
h1 { font-size: clamp(1.5rem, 3vw, 2.1rem); line-height: 1.15; margin: 0 0 .4rem;
  letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 0 0 .6rem; line-height: 1.25; overflow-wrap: anywhere; }
h2.group { margin: 2.4rem 0 .2rem; }
h3 { font-size: 1.05rem; margin: 1.2rem 0 .4rem; overflow-wrap: anywhere; }
section > h3:first-child { margin-top: 0; }
ul { margin: .4rem 0; padding-left: 1.2rem; max-width: 46rem; }
p { margin: .4rem 0; max-width: 46rem; overflow-wrap: anywhere; }
a { color: inherit; text-underline-offset: .15em; }
:focus-visible { outline: 3px solid #0072b2; outline-offset: 2px; }
:target { outline: 2px solid var(--part); outline-offset: 3px; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: .3rem; }
.read-aloud { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }
.soft { color: var(--soft); font-size: .9rem; }
.banner { border-left: 4px solid var(--no); background: var(--card); padding: .6rem .9rem;
  margin: .8rem 0; font-size: .95rem; overflow-wrap: anywhere; }
.tally { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr)); gap: .6rem;
  margin: .6rem 0 1rem; padding: 0; list-style: none; max-width: none; }
.tally li { border-radius: .6rem; padding: .45rem .7rem; }
.tally b { display: block; font-size: 1.6rem; line-height: 1.1;
  font-variant-numeric: tabular-nums; }
.first { display: grid; gap: 1.5rem; grid-template-columns: minmax(0, 1fr); align-items: start; }
@media (min-width: 60rem) { .first { grid-template-columns: minmax(20rem, 2fr) minmax(0, 3fr); } }
.first figure svg { max-height: 34rem; }
.headlines { list-style: none; padding: 0; max-width: none; font-size: 1.05rem; }
.headlines li { border-top: 1px solid var(--line); padding: .45rem 0; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: .6rem 0 0; font-size: .95rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .8rem;
  padding: 1.1rem 1.3rem; margin: 1.2rem 0; }
.pair { display: grid; gap: 1.5rem; grid-template-columns: minmax(0, 1fr); align-items: start; }
@media (min-width: 60rem) { .pair { grid-template-columns: 27rem minmax(0, 1fr); }
  .stay { position: sticky; top: 1rem; } }
@media (min-width: 110rem) { .claims.findings { columns: 2; column-gap: 2.5rem; }
  .claims.findings > li { break-inside: avoid; } }
.stay > p { margin: .6rem 0; }
figure { margin: 0; }
figure svg { display: block; width: 100%; height: auto; background: #fff; border-radius: .4rem;
  padding: .5rem; border: 1px solid var(--line); }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
.letters { position: absolute; width: 0; height: 0; }
.claims { list-style: none; margin: 0; padding: 0; max-width: none; }
.claims > li { padding: .7rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.claims > li:first-child { border-top: 0; padding-top: 0; }
blockquote { margin: .35rem 0; font-family: Georgia, "Times New Roman", serif; font-size: 1.02rem; }
.badge { display: inline-block; border-radius: 1rem; padding: .05rem .65rem; font-size: .85rem;
  font-weight: 600; white-space: nowrap; }
.chip { display: inline-block; border: 1px solid var(--line); border-radius: .4rem;
  padding: 0 .45rem; margin: .1rem .35rem .1rem 0; font-size: .82rem; color: var(--soft); }
.findings h3 { display: inline; margin: 0 0 0 .4rem; font-size: 1.02rem; }
.yes { color: var(--yes); background: var(--yes-bg); }
.part { color: var(--part); background: var(--part-bg); }
.no { color: var(--no); background: var(--no-bg); }
.open { color: var(--open); background: var(--open-bg); }
.away { color: var(--soft); border: 1px dashed var(--line); }
.mark { display: inline-block; width: 1.3em; text-indent: 0; font-weight: 700; background: none;
  border: 0; }
.filter label { display: flex; gap: .3rem; align-items: center; max-width: 100%; }
.filter select { min-width: 0; }
.filter { display: flex; flex-wrap: wrap; gap: .4rem 1rem; align-items: center; margin: .6rem 0;
  font-size: .92rem; }
select, button { font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--soft); border-radius: .4rem; padding: .2rem .4rem; max-width: 100%; }
.ratios { list-style: none; margin: 0; padding: 0; max-width: none; }
.ratio { display: grid; gap: 0 1rem; grid-template-columns: minmax(0, 1fr); align-items: center;
  font-size: .9rem; border-top: 1px solid var(--line); overflow-wrap: anywhere;
  font-variant-numeric: tabular-nums; }
.ratio svg { width: 100%; height: 1.5rem; overflow: visible; }
.ratio > span:first-child { padding-left: 1.6rem; text-indent: -1.3rem; }
.ratio small { color: var(--soft); white-space: nowrap; }
@media (min-width: 48rem) {
  .ratio { grid-template-columns: minmax(0, 5fr) minmax(0, 6fr) 9.5rem; } }
.scale { border: 0; color: var(--soft); position: sticky; top: 0; background: var(--card);
  z-index: 1; font-size: .8rem; }
.group > h3 { margin: .9rem 0 .3rem; }
.absent { padding: .25rem 0 .25rem 1.6rem; text-indent: -1.3rem; font-size: .9rem;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
svg text { fill: var(--soft); font-size: .75rem; }
figure svg text { fill: #000; }
/* A part that is drawn by reference does not know the svg element around it. */
.tick { stroke: var(--line); } .one { stroke: var(--soft); } .zone { fill: var(--zone); }
svg .floor { fill: var(--floor); }
svg line.yes, svg line.no, svg line.part, svg line.open, svg line.away { stroke-width: 2; }
svg .yes { fill: var(--yes); stroke: var(--yes); } svg .no { fill: var(--no); stroke: var(--no); }
svg .part { fill: var(--part); stroke: var(--part); }
svg .open, svg .away { fill: var(--card); stroke: var(--open); }
svg path.paper { fill: none; stroke: var(--ink); stroke-width: 1.6; }
svg .point { fill: #0072b2; } svg .front { fill: none; stroke: #d55e00; stroke-width: 1.5; }
svg .spread { stroke: var(--soft); stroke-width: 2; } svg .middle { fill: var(--zone); }
.gallery { display: grid; gap: 1.2rem;
  grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr)); }
svg.scatter { width: 100%; max-width: 26rem; border: 1px solid var(--line); }
svg text.on { fill: #fff; font-size: .65rem; font-weight: 700; }
.papers { display: grid; gap: 1.2rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 60rem) { .papers { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@media (min-width: 90rem) { .papers { grid-template-columns: repeat(3, minmax(0, 1fr)); } }
.papers section { margin: 0; } svg.small { display: block; width: 100%; overflow: visible; }
.matrix td, .matrix th { padding: .25rem .5rem; border: 1px solid var(--line); }
.matrix td { white-space: nowrap; }
.matrix thead th { white-space: normal; vertical-align: bottom; }
.matrix tbody th { font-weight: 400; }
.matrix a { text-decoration: none; } .matrix a:hover { text-decoration: underline; }
.matrix .best { font-weight: 700; } .matrix .none { color: var(--soft); }
.r5 { background: #1b7f5f; color: #fff; } .r4 { background: #8fd0b8; color: #10261e; }
.r3 { background: #e5e3b5; color: #2a2810; } .r2 { background: #f0c08f; color: #33200b; }
.r1 { background: #b5482a; color: #fff; }
.name { text-decoration: underline dotted; } .name abbr { text-decoration: none; }
.names { list-style: none; padding: 0; max-width: none; font-size: .9rem; columns: 24rem;
  column-gap: 2rem; }
.names li { break-inside: avoid; padding: .12rem 0; overflow-wrap: anywhere; }
.names dfn { font-style: normal; font-weight: 600; }
.notebook pre { overflow-x: auto; font-size: .85rem; }
.notebook img { max-width: 100%; height: auto; }
.notebook { max-width: 60rem; } .notebook .anchor-link { display: none; }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
.scroll { overflow-x: auto; max-width: 100%; }
.answers .label { display: none; }
@media (max-width: 48rem) { .answers thead { display: none; } .answers td:empty { display: none; }
  .answers .label { display: inline; color: var(--soft); }
  .answers tr, .answers td { display: block; } .answers td { border: 0; padding: .1rem 0; }
  .answers tr { border-top: 1px solid var(--line); padding: .5rem 0; } }
table { border-collapse: collapse; font-size: .86rem; width: 100%;
  font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td.number { text-align: right; white-space: nowrap; }
code { font: .86em ui-monospace, "Cascadia Mono", Menlo, monospace; overflow-wrap: anywhere; }
footer { color: var(--soft); font-size: .85rem; padding-bottom: 3rem; overflow-wrap: anywhere; }
@media print { body { background: #fff; color: #000; font-size: 10pt; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  section { break-inside: auto; border: 0; padding: 0; } .pair { display: block; }
  .stay, .scale { position: static; }
  .first { grid-template-columns: 9cm minmax(0, 1fr); }
  .ratio { grid-template-columns: 7cm minmax(0, 1fr) 9.5rem; break-inside: avoid; }
  figure { max-width: 11cm; break-inside: avoid; } .claims > li { break-inside: avoid; }
  nav, .filter, .skip { display: none; } }
"""
