import { css } from './html.js';

/** Colours keep WCAG 2.2 AA in both schemes: 4.5:1 for text, 3:1 for the edges of buttons and the focus ring. */
export const pageColours = css`
  :root {
    color-scheme: light dark;
    --paper: #f3f0ea;
    --card: #ffffff;
    --edge: #ddd7cc;
    --ink: #1e2329;
    --quiet: #59616b;
    --accent: #17594a;
    --accent-strong: #0f4236;
    --on-accent: #ffffff;
    --second: #a8481c;
    --tint: #e6f0ec;
    --button-edge: #7d8681;
  }
  @media (prefers-color-scheme: dark) {
    :root {
      --paper: #14171a;
      --card: #1d2226;
      --edge: #343b41;
      --ink: #eceff1;
      --quiet: #a9b2ba;
      --accent: #83d3b6;
      --accent-strong: #a3e3cb;
      --on-accent: #0b2119;
      --second: #f0a683;
      --tint: #22352f;
      --button-edge: #75807c;
    }
  }
`;
