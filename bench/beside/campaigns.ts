import { eventually } from '#testing/time/eventually';
import { compare, type Comparison, type Goal, type Measured, shown } from '../support/comparison.js';
import type { Listmonk } from '../reference/listmonk.js';
import type { PostfixSink } from '../support/postfix-sink.js';
import type { BothMailers } from './both-mailers.js';

const DEADLINE_MS = 1_800_000;
const CAMPAIGNS_AFTER_START = 3;

export interface CampaignOptions {
  readonly pairs: number;
  readonly sink: PostfixSink;
}

export interface CampaignComparison {
  readonly operation: string;
  readonly goals: readonly Goal[];
  /** Resolves when they say that it is sent; their usual campaign where it is left out. */
  readonly theirs?: () => Promise<void>;
}

/** The same campaign to the same people by each in turn: rates count until the last mail is in the sink, CPU until the campaign is over. */
export function compareCampaigns(
  both: BothMailers,
  options: CampaignOptions,
  { operation, goals, theirs = () => both.peer.send() }: CampaignComparison,
): Promise<Comparison> {
  return compare(operation, goals, options.pairs, {
    theirs: () => campaign(both, options, theirs),
    ours: () => campaign(both, options, () => both.sendOurs()),
  });
}

/** The first campaign after a start against the third: 1 is as fast. */
export async function compareFirstCampaigns(
  both: BothMailers<Listmonk>,
  options: CampaignOptions,
): Promise<Comparison> {
  const measured: Comparison['pairs'][number][] = [];
  for (let pair = 0; pair < options.pairs; pair += 1) {
    await both.peer.replace('SIGTERM');
    const theirs = await ofThird(both, options, () => both.peer.send());
    await both.restartWorker();
    const ours = await ofThird(both, options, () => both.sendOurs());
    measured.push({ theirs, ours });
  }
  return shown({
    operation: 'first campaign after a start, of the third’s rate',
    goals: [{ of: 'own', least: 0.9 }],
    pairs: measured,
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
  { sink }: CampaignOptions,
  send: () => Promise<void>,
): Promise<Measured> {
  const before = sink.count();
  const recipients = both.readers.to;
  let sending = Promise.resolve();
  const measured = await both.measure(
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
  const surplus = sink.count() - before - recipients;
  if (surplus > 0) process.stdout.write(`${surplus} mails more than recipients\n`);
  return measured;
}
