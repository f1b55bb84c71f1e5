import { css } from '../html.js';

/** The style of all pages: the sender above the card, headings and text in it, the footer below. */
export const frameStyle = css`
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
    text-wrap: pretty;
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
    text-wrap: balance;
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
    color: var(--link);
  }
  .sign .disc {
    fill: var(--tint);
    stroke: none;
  }
  h1 {
    margin: 0 0 0.75rem;
    font-size: 1.625rem;
    line-height: 1.25;
    text-wrap: balance;
  }
  h1:lang(ja) {
    word-break: auto-phrase;
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
  .logo {
    display: inline-block;
    max-width: 100%;
    max-height: 3rem;
    vertical-align: middle;
  }
  @media (prefers-color-scheme: dark) {
    .logo {
      padding: 0.375rem 0.625rem;
      border-radius: 0.5rem;
      background: #ffffff;
    }
  }
  footer {
    margin: 0 0 auto;
    padding: 1.25rem 0 0;
    color: var(--quiet);
    font-size: 0.875rem;
    text-align: center;
  }
  .privacy {
    margin: 0 0 0.5rem;
  }
  .privacy a {
    color: inherit;
  }
  .privacy > * {
    display: block;
    padding: 0.25rem 0;
    overflow-wrap: anywhere;
  }
  .address {
    white-space: pre-line;
  }
  a {
    color: var(--link);
    font-weight: 600;
  }
  a:focus-visible {
    outline: 3px solid var(--link);
    outline-offset: 3px;
  }
  @media (min-width: 34rem) {
    main {
      padding: 2.5rem 2.5rem 2.25rem;
    }
  }
`;
