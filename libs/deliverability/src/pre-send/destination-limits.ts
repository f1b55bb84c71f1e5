import { counted } from '#kernel';
import { linePlaceMs } from '../throttling/destination-time.js';
import type { CampaignFacts, DestinationFacts } from './campaign-facts.js';
import { pass, type PreSendCheck, skip } from './pre-send-check.js';

const CODE = 'destination-limits';
/** As many destinations as the message names. */
const SHOWN = 5;
const MINUTE_MS = 60_000;

/** Tells how long the slowest destinations take, by their limits and slow-downs alone. It never fails. */
export function destinationLimits({ destinations, now }: CampaignFacts): PreSendCheck {
  if (destinations === null) return skip(CODE, 'Nothing limits how fast this mail goes.');
  const timed = destinations
    .map((facts) => ({ facts, takesMs: linePlaceMs(facts.recipients, facts, now) }))
    .sort((a, b) => b.takesMs - a.takesMs);
  const [slowest] = timed;
  if (slowest === undefined) return pass(CODE, 'No recipient is at a mailbox provider with a limit.');
  const shown = timed.slice(0, SHOWN).map(({ facts, takesMs }) => `${described(facts)}, ${lasting(takesMs)}`);
  const more = timed.length > SHOWN ? `; ${timed.length - SHOWN} more are faster` : '';
  return pass(CODE, `Takes ${lasting(slowest.takesMs)}. ${shown.join('; ')}${more}.`);
}

function described({ destination, recipients, mailsPerSecond, slowUntil }: DestinationFacts): string {
  const limits = [
    ...(slowUntil === null ? [] : [`one a minute until ${slowUntil.toISOString().slice(0, 16)}Z`]),
    ...(mailsPerSecond === null ? [] : [`${slowUntil === null ? '' : 'then '}${mailsPerSecond} a second`]),
  ];
  return `${destination}: ${counted(recipients, 'mail')} at ${limits.join(', ')}`;
}

function lasting(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE_MS);
  if (minutes <= 1) return 'a minute at most';
  const [days, hours] = [Math.floor(minutes / 1_440), Math.floor((minutes % 1_440) / 60)];
  const parts = [
    ...(days === 0 ? [] : [`${days} d`]),
    ...(hours === 0 ? [] : [`${hours} h`]),
    ...(days > 0 || minutes % 60 === 0 ? [] : [`${minutes % 60} min`]),
  ];
  return `at least ${parts.join(' ')}`;
}
