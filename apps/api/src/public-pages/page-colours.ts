import { css } from '../html.js';

/** Colours beside those of the sender's brand (`brandStyle`). They keep WCAG 2.2 AA in both schemes: 4.5:1 for text, 3:1 for the edges of buttons and the focus ring. */
export const pageColours = css`
  :root {
    color-scheme: light dark;
    --paper: #f3f0ea;
    --card: #ffffff;
    --edge: #ddd7cc;
    --ink: #1e2329;
    --quiet: #59616b;
    --second: #a8481c;
    --button-edge: #7d8681;
  }
  @media (prefers-color-scheme: dark) {
    :root {
      --paper: #14171a;
      --card: #1d2226;
      --edge: #343b41;
      --ink: #eceff1;
      --quiet: #a9b2ba;
      --second: #f0a683;
      --button-edge: #75807c;
    }
  }
`;
