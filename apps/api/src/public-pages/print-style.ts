import { css } from '../html.js';

/** Removes the card when printing. Must follow the styles that it overrides. */
export const printStyle = css`
  @media print {
    :root {
      color-scheme: light;
      --paper: #ffffff;
      --card: #ffffff;
      --edge: #c9c9c9;
      --ink: #000000;
      --quiet: #444444;
      --accent: #000000;
      --link: #000000;
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
