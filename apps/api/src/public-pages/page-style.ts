import { createHash } from 'node:crypto';
import { css, Html } from './html.js';
import { reportStyle } from './report-style.js';

/** Colours keep WCAG 2.2 AA in both schemes: 4.5:1 for text, 3:1 for the edges of buttons and the focus ring. */
const pageStyle = css`
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
  * {
    box-sizing: border-box;
  }
  body {
    margin: 0;
    min-height: 100vh;
    min-height: 100svh;
    display: flex;
    flex-direction: column;
    align-items: center;
    padding: 1.5rem 1rem;
    background: var(--paper);
    color: var(--ink);
    font:
      1.0625rem/1.55 system-ui,
      -apple-system,
      'Segoe UI',
      Roboto,
      'Helvetica Neue',
      'Noto Sans',
      sans-serif;
    overflow-wrap: anywhere;
    -webkit-text-size-adjust: 100%;
    text-size-adjust: 100%;
  }
  .sender,
  main,
  footer {
    width: 100%;
    max-width: 30rem;
  }
  .sender {
    margin: auto 0 0;
    padding: 0 0 1rem;
    font-weight: 600;
    text-align: center;
  }
  main {
    padding: 2rem 1.5rem 1.75rem;
    background: var(--card);
    border: 1px solid var(--edge);
    border-radius: 1rem;
  }
  .sign {
    display: block;
    width: 3rem;
    height: 3rem;
    margin: 0 0 1.25rem;
    color: var(--accent);
  }
  .sign .disc {
    fill: var(--tint);
    stroke: none;
  }
  h1 {
    margin: 0 0 0.75rem;
    font-size: 1.625rem;
    line-height: 1.2;
    letter-spacing: -0.01em;
    text-wrap: balance;
  }
  h2 {
    margin: 0 0 0.5rem;
    font-size: 1.1875rem;
    line-height: 1.3;
  }
  p {
    margin: 0 0 1rem;
  }
  main > :last-child,
  form > :last-child {
    margin-bottom: 0;
  }
  .topics {
    margin: 0 0 1.5rem;
    padding: 0;
    list-style: none;
    border-top: 1px solid var(--edge);
  }
  .topics li {
    padding: 0.625rem 0;
    border-bottom: 1px solid var(--edge);
    font-weight: 600;
  }
  button {
    display: block;
    width: 100%;
    min-height: 3.25rem;
    margin: 0 0 0.75rem;
    padding: 0.75rem 1.25rem;
    border: 2px solid transparent;
    border-radius: 0.75rem;
    background: var(--accent);
    color: var(--on-accent);
    font: inherit;
    font-weight: 600;
    line-height: 1.3;
    text-wrap: balance;
    cursor: pointer;
  }
  button:hover {
    background: var(--accent-strong);
  }
  button.second {
    background: transparent;
    border-color: var(--button-edge);
    color: var(--ink);
  }
  button.second:hover {
    background: var(--tint);
  }
  button:focus-visible {
    outline: 3px solid var(--accent);
    outline-offset: 3px;
  }
  .choice {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    justify-content: space-between;
    gap: 0.5rem 1rem;
  }
  .choice > span {
    flex: 1 1 9rem;
  }
  .choice button {
    flex: none;
    width: auto;
    min-height: 2.75rem;
    margin: 0;
    padding: 0.5rem 1rem;
    font-size: 0.9375rem;
  }
  .about {
    display: block;
    font-size: 0.9375rem;
    font-weight: 400;
    white-space: pre-line;
  }
  .pair,
  .row {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
  }
  .choice > .pair {
    flex: none;
    max-width: 100%;
  }
  .row button {
    flex: 1 1 4.75rem;
    width: auto;
    margin: 0;
    padding: 0.75rem 0.25rem;
    font-size: 1rem;
  }
  form > .topics:last-child li:last-child {
    border-bottom: 0;
  }
  .more + form {
    margin-top: 1.75rem;
  }
  form:has(+ .more) .topics li:last-child {
    padding-bottom: 0;
  }
  .status {
    display: block;
    color: var(--quiet);
    font-size: 0.875rem;
    font-weight: 400;
  }
  .spoken {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  .quiet {
    color: var(--quiet);
    font-size: 0.9375rem;
  }
  form + form {
    margin-top: 1.5rem;
  }
  form + .quiet {
    margin-top: 1.25rem;
  }
  .more {
    margin-top: 1.75rem;
    padding-top: 1.25rem;
    border-top: 1px solid var(--edge);
  }
  footer {
    margin: 0 0 auto;
    padding: 1.25rem 0 0;
    color: var(--quiet);
    font-size: 0.875rem;
    text-align: center;
    white-space: pre-line;
  }
  main.wide {
    max-width: 46rem;
  }
  .standing {
    margin: 0 0 1.75rem;
    font-weight: 600;
  }
  .facts {
    display: grid;
    grid-template-columns: repeat(2, minmax(0, 1fr));
    gap: 1.25rem 2rem;
    margin: 0 0 1.75rem;
  }
  .facts dt {
    color: var(--quiet);
    font-size: 0.875rem;
  }
  .facts dd {
    margin: 0;
    white-space: pre-line;
  }
  table {
    width: 100%;
    margin: 0 0 1.75rem;
    border-collapse: collapse;
  }
  th,
  td {
    padding: 0.625rem 0;
    border-bottom: 1px solid var(--edge);
    font-weight: 400;
    text-align: start;
    vertical-align: top;
  }
  thead th {
    color: var(--quiet);
    font-size: 0.875rem;
  }
  .amount {
    padding-inline-start: 1rem;
    text-align: end;
    white-space: nowrap;
    font-variant-numeric: tabular-nums;
  }
  tfoot tr:last-child > * {
    border-bottom: 0;
    font-size: 1.1875rem;
    font-weight: 600;
  }
  .note {
    white-space: pre-line;
  }
  a {
    color: var(--accent);
    font-weight: 600;
  }
  a:focus-visible {
    outline: 3px solid var(--accent);
    outline-offset: 3px;
  }
  @media (min-width: 34rem) {
    main {
      padding: 2.5rem 2.5rem 2.25rem;
    }
  }
  @media print {
    :root {
      color-scheme: light;
      --paper: #ffffff;
      --card: #ffffff;
      --edge: #c9c9c9;
      --ink: #000000;
      --quiet: #444444;
      --accent: #000000;
      --second: #a8481c;
      --tint: #ffffff;
    }
    body {
      min-height: 0;
      padding: 0;
      font-size: 11pt;
    }
    main,
    main.wide {
      max-width: none;
      padding: 0;
      border: 0;
    }
    .sign,
    .unprinted {
      display: none;
    }
    tr {
      break-inside: avoid;
    }
  }
`;

/** The one style sheet of all pages. Nothing stands between it and its tags, so that its hash holds. */
export const styleElement = new Html(['<style>', '', '</style>'], [pageStyle, reportStyle]);

/** What the pages' Content-Security-Policy lets in as style. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256')
  .update(pageStyle.toString() + reportStyle.toString())
  .digest('base64')}'`;
