import { describe, expect, it } from '@jest/globals';
import { TrackingTokens } from '#platform';
import * as fc from '#testing/random/properties';
import { AGENT_KINDS } from './classification.js';
import {
  type RequestBlock,
  type WaitingRequest,
  WaitingRequestsService,
} from './waiting-requests.service.js';

const tokens = new TrackingTokens('a secret of the tests, long enough for it');
const ROOM = 3;

const request = fc.record({
  claims: fc.record({
    environmentId: fc.integer({ min: 1, max: 2 ** 40 - 1 }),
    linkSet: fc.integer({ min: 1, max: 2 ** 40 - 1 }),
    deliveryId: fc.uuid(),
    place: fc.nat(20),
  }),
  at: fc.date({ noInvalidDate: true }),
  agent: fc.constantFrom(...AGENT_KINDS),
  isLookAhead: fc.boolean(),
});

const step = fc.oneof(
  { weight: 4, arbitrary: request.map((added) => ({ added })) },
  fc.constantFrom('write' as const, 'fail' as const),
);

function add(waiting: WaitingRequestsService, { claims, at, agent, isLookAhead }: WaitingRequest): void {
  const token = tokens.sign(claims, claims.place + 1).at(-1) ?? '';
  waiting.add(tokens.verifyBytes(token)!, at, agent, isLookAhead);
}

const requestsOf = (block: RequestBlock) =>
  Array.from({ length: block.length }, (_, index) => block.request(index));

/** Takes the next block; what it held when it is done with, or nothing when it is put back. */
function take(waiting: WaitingRequestsService, isWritten: boolean): WaitingRequest[] {
  const block = waiting.take();
  if (block === undefined) return [];
  expect(block.length).toBeLessThanOrEqual(ROOM);
  const requests = requestsOf(block);
  if (isWritten) waiting.free(block);
  else waiting.putBack(block);
  return isWritten ? requests : [];
}

describe('requests that wait to be written', () => {
  it('come out as they came, each once and in their order, whether writing fails now and then or not', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const waiting = new WaitingRequestsService(ROOM);
        const [came, written]: WaitingRequest[][] = [[], []];
        for (const each of steps) {
          if (typeof each === 'object') {
            add(waiting, each.added);
            came!.push(each.added);
          } else written!.push(...take(waiting, each === 'write'));
          expect(waiting.length).toBe(came!.length - written!.length);
        }
        while (waiting.length > 0) written!.push(...take(waiting, true));
        expect(written).toEqual(came);
        expect(waiting.take()).toBeUndefined();
      }),
    );
  });

  it('may come while a block is being written', () => {
    const waiting = new WaitingRequestsService(ROOM);
    const [first, second] = fc.sample(request, 2);
    add(waiting, first!);
    const writing: RequestBlock = waiting.take()!;
    add(waiting, second!);
    expect(requestsOf(writing)).toEqual([first]);
    waiting.putBack(writing);
    expect(take(waiting, true)).toEqual([first]);
    expect(take(waiting, true)).toEqual([second]);
  });
});
