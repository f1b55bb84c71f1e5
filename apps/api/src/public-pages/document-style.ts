import { css } from '../html.js';

/** The style of invoices and reports. */
export const documentStyle = css`
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
  .number {
    display: inline-block;
  }
  .amount {
    padding-inline-start: 1rem;
    text-align: right;
    white-space: nowrap;
    font-variant-numeric: tabular-nums;
  }
  .amount:last-child {
    width: 1%;
  }
  tfoot tr:last-child > * {
    border-bottom: 0;
    font-size: 1.1875rem;
    font-weight: 600;
  }
  .note {
    white-space: pre-line;
  }
`;
