import { eventually } from '#testing/eventually';
import { compare, type Comparison, type Measured, shown } from '../support/comparison.js';
import type { PostfixSink } from '../support/postfix-sink.js';
import type { BothMailers } from './both-mailers.js';

const DEADLINE_MS = 1_800_000;
const CAMPAIGNS_AFTER_START = 3;

export interface CampaignOptions {
  readonly recipients: number;
  readonly pairs: number;
  readonly sink: PostfixSink;
}

/**
 * The same campaign to the same people, over as many connections: with a text part in both, and as each is set up by itself, where
 * only ours makes one. Rates count until the last mail is in the sink, CPU until the campaign is over.
 */
export async function compareCampaigns(both: BothMailers, options: CampaignOptions): Promise<Comparison[]> {
  const { pairs } = options;
  const ours = () => campaign(both, options, () => both.sendOurs());
  return [
    await compare('campaign, mails, both with a text part', [{ of: 'rate', least: 1.25 }], pairs, {
      theirs: () => campaign(both, options, () => both.sendTheirs({ hasText: true })),
      ours,
    }),
    await compare(
      'campaign, mails, as each is set up',
      [
        { of: 'rate', least: 1.1 },
        { of: 'cpu', most: 0.85 },
      ],
      pairs,
      { theirs: () => campaign(both, options, () => both.sendTheirs()), ours },
    ),
  ];
}

/** The first campaign after a start against the third: 1 is as fast. */
export async function compareFirstCampaigns(
  both: BothMailers,
  options: CampaignOptions,
): Promise<Comparison> {
  const measured: Comparison['pairs'][number][] = [];
  for (let pair = 0; pair < options.pairs; pair += 1) {
    await both.listmonk.replace('SIGTERM');
    const theirs = await ofThird(both, options, () => both.sendTheirs());
    await both.restartWorker();
    const ours = await ofThird(both, options, () => both.sendOurs());
    measured.push({ theirs, ours });
  }
  return shown({
    operation: 'first campaign after a start, of the third’s rate',
    goals: [{ of: 'own', least: 0.9 }],
    pairs: measured,
    isCharted: false,
  });
}

async function ofThird(
  both: BothMailers,
  options: CampaignOptions,
  send: () => Promise<void>,
): Promise<Measured> {
  const sent: Measured[] = [];
  for (let n = 0; n < CAMPAIGNS_AFTER_START; n += 1) sent.push(await campaign(both, options, send));
  const [first, third] = [sent[0], sent.at(-1)];
  const share = (of: keyof Measured) => (first?.[of] ?? 0) / (third?.[of] ?? 0);
  return { perSecond: share('perSecond'), app: share('app'), postgres: share('postgres') };
}

async function campaign(
  both: BothMailers,
  { recipients, sink }: CampaignOptions,
  send: () => Promise<void>,
): Promise<Measured> {
  const before = sink.count();
  let sending = Promise.resolve();
  return both.measure(
    async () => {
      sending = send();
      const arrived = eventually(
        'all mails are in the sink',
        () => sink.count() - before >= recipients,
        DEADLINE_MS,
      );
      await Promise.race([arrived, sending.then(() => arrived)]);
      return recipients;
    },
    () => sending,
  );
}
