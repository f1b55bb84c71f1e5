import { css } from '../html.js';

/** The style of reports: bars, charts, wide tables. */
export const reportStyle = css`
  section {
    margin: 0 0 2rem;
  }
  section + section {
    padding-top: 1.75rem;
    border-top: 1px solid var(--edge);
  }
  section > :last-child {
    margin-bottom: 0;
  }
  th > bdi {
    overflow-wrap: anywhere;
  }
  section h2 {
    margin-top: 0.25rem;
  }
  .funnel th,
  .links tbody th {
    width: 100%;
  }
  .funnel th {
    font-weight: 600;
  }
  .bar {
    display: block;
    width: 100%;
    height: 0.5rem;
    margin-top: 0.375rem;
  }
  .bar .whole {
    fill: var(--tint);
  }
  .bar .part {
    fill: var(--accent);
  }
  .figures {
    grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr));
  }
  .figures dd {
    font-variant-numeric: tabular-nums;
    font-weight: 600;
    white-space: normal;
  }
  .chart {
    margin: 0 0 1.25rem;
  }
  .chart figcaption {
    display: flex;
    flex-wrap: wrap;
    gap: 0.25rem 1rem;
    margin-bottom: 0.5rem;
    font-size: 0.875rem;
  }
  .chart .most {
    margin-inline-start: auto;
    color: var(--quiet);
  }
  .chart svg {
    display: block;
    width: 100%;
    height: 9rem;
    overflow: visible;
  }
  .chart path {
    vector-effect: non-scaling-stroke;
  }
  .chart .grid {
    fill: none;
    stroke: var(--edge);
  }
  .chart .line {
    fill: none;
    stroke: var(--accent);
    stroke-width: 2;
  }
  .chart .area {
    fill: var(--accent);
    fill-opacity: 0.14;
  }
  .chart .line.clicked {
    stroke: var(--second);
  }
  .chart .area.clicked {
    fill: var(--second);
  }
  .chart .column {
    fill: var(--accent);
  }
  .chart .column.clicked {
    fill: var(--second);
  }
  [dir='rtl'] .chart svg,
  [dir='rtl'] .bar {
    transform: scaleX(-1);
  }
  .key::before {
    content: '';
    display: inline-block;
    width: 0.875rem;
    margin-inline-end: 0.375rem;
    border-top: 0.25rem solid var(--accent);
    vertical-align: 0.25em;
  }
  .key.clicked::before {
    border-color: var(--second);
  }
  .chart .span {
    display: flex;
    justify-content: space-between;
    margin: 0.25rem 0 0;
    color: var(--quiet);
    font-size: 0.875rem;
  }
  .chart .span > :only-child {
    margin: auto;
  }
  details {
    margin: 0 0 1rem;
  }
  summary {
    color: var(--link);
    font-weight: 600;
    cursor: pointer;
  }
  summary:focus-visible {
    outline: 3px solid var(--link);
    outline-offset: 3px;
  }
  details table {
    margin-top: 0.5rem;
    font-size: 0.9375rem;
  }
  .written h3 {
    margin: 1.25rem 0 0.375rem;
    font-size: 1rem;
  }
  .written h3:first-child {
    margin-top: 0;
  }
  .written ul,
  .written ol {
    margin: 0 0 1rem;
    padding-inline-start: 1.25rem;
  }
  .written li {
    margin-bottom: 0.375rem;
  }
  .written code {
    font-size: 0.9em;
  }
  @media (max-width: 41.99rem) {
    .stacked,
    .stacked tbody,
    .stacked tr,
    .stacked th,
    .stacked td {
      display: block;
    }
    .stacked thead {
      position: absolute;
      clip-path: inset(50%);
    }
    .stacked tr {
      display: grid;
      grid-template-columns: repeat(3, minmax(0, 1fr));
      gap: 0.5rem 0.75rem;
      padding: 0.75rem 0;
      border-bottom: 1px solid var(--edge);
    }
    .stacked th,
    .stacked td {
      padding: 0;
      border: 0;
      text-align: start;
    }
    .stacked th {
      grid-column: 1 / -1;
      font-weight: 600;
    }
    .stacked td::before {
      content: attr(data-name);
      display: block;
      color: var(--quiet);
      font-size: 0.875rem;
    }
  }
  @media print {
    .chart,
    .figures,
    h2,
    h3 {
      break-inside: avoid;
      break-after: avoid;
    }
    .chart svg {
      height: 4cm;
    }
  }
`;
