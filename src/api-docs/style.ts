/** The style sheet of `/docs`: light and dark, responsive, without external resources. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#fbfaf8, #131217);
  --sunken: light-dark(#f3f1ed, #0f0e12);
  --line: light-dark(#e6e2db, #2d2b35);
  --ink: light-dark(#1d1b20, #f1eff5);
  --soft: light-dark(#57534e, #b1adbb);
  --accent: light-dark(#4338ca, #a5a0ff);
  --get: light-dark(#1f5aa8, #8dbdff);
  --post: light-dark(#14713d, #5bd08b);
  --put: light-dark(#8a4b00, #f2b45c);
  --delete: light-dark(#b3261e, #ff938a);
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0;
  color: var(--ink);
  background: var(--ground);
  font: 15px/1.55 Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -9999px; }
.skip:focus { left: 1rem; top: 1rem; background: var(--ground); padding: .5rem; }
nav {
  padding: 1.5rem;
  border-bottom: 1px solid var(--line);
}
nav ul { list-style: none; margin: 0 0 1rem; padding: 0; }
nav summary { cursor: pointer; }
nav li a { display: block; padding: .1rem 0; text-decoration: none; overflow-wrap: anywhere; }
nav li li a { color: var(--soft); padding-left: .8rem; font-size: .87em; }
main { padding: 1.5rem; max-width: 60rem; min-width: 0; }
@media (min-width: 60rem) {
  body { display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; border-bottom: 0; border-right: 1px solid var(--line); }
  main { padding: 2rem 3rem; }
}
h1 { font-size: 1.7rem; margin: 0 0 .5rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 2.2rem 0 .4rem; font-family: ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
h3 b { margin-right: .5em; }
.get { color: var(--get); } .post { color: var(--post); } .put { color: var(--put); } .delete { color: var(--delete); }
code, pre { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .88em; }
code { overflow-wrap: anywhere; }
pre { background: var(--sunken); border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem; line-height: 1.45; white-space: pre-wrap; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .92em; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; }
td:first-child { width: 30%; overflow-wrap: anywhere; }
details { margin: .6rem 0; }
main summary { cursor: pointer; color: var(--soft); }
`;
