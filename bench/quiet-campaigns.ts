import { compareQuietCampaigns } from './beside/quiet.js';

/** A campaign beside those of other tenants whose people wait, against itself while these are paused. */
await compareQuietCampaigns({
  recipients: Number(process.env['RECIPIENTS'] ?? 20_000),
  quiet: Number(process.env['QUIET'] ?? 400),
  pairs: Number(process.env['PAIRS'] ?? 5),
  connections: process.env['CONNECTIONS'] ?? '50',
});
