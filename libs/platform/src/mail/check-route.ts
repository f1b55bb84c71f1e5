import type { Capabilities } from './capabilities.js';
import type { SmtpStage } from './mail-transport.js';
import { openSession, RouteUnavailable } from './smtp-opening.js';
import type { SmtpRoute } from './smtp-route.js';

/** What a server says before it is given mail, or why it could not be asked. */
export type RouteCheck =
  | { readonly isReady: true; readonly capabilities: Capabilities }
  | { readonly isReady: false; readonly stage: SmtpStage; readonly detail: string };

/** Connects, secures and authenticates, and sends nothing. Ends within three times `limitMs`. */
export async function checkRoute(
  find: () => Promise<SmtpRoute>,
  ehloName: string,
  limitMs: number,
): Promise<RouteCheck> {
  const timeouts = { connect: limitMs, greeting: limitMs, reply: limitMs, data: limitMs };
  try {
    const session = await openSession(await find(), ehloName, timeouts);
    await session.quit();
    return { isReady: true, capabilities: session.capabilities };
  } catch (error) {
    if (!(error instanceof RouteUnavailable)) throw error;
    return { isReady: false, stage: error.stage, detail: error.message };
  }
}
