import { splitSide } from '../../../libs/messaging/src/automations/runs/step-executor.service.js';
import type { Kind, Model } from './model.js';

/** Facts about a person that an automation can know, and change. */
export interface Person {
  readonly id: string;
  readonly email: string;
  isPro: boolean;
  /** Webhooks about them are refused for good. */
  readonly isRefused: boolean;
  news: 'SUBSCRIBED' | 'UNSUBSCRIBED';
  other: 'none' | 'SUBSCRIBED' | 'UNSUBSCRIBED';
  isMember: boolean;
}

type Result = '' | ' SKIPPED' | ' FAILED' | ' CONVERTED' | ' WAITING';

interface Taken {
  readonly result: Result;
  readonly branch: string;
}

const DONE: Taken = { result: '', branch: '' };
const SKIPPED: Taken = { result: ' SKIPPED', branch: '' };
const asked = (holds: boolean): Taken => ({ result: '', branch: holds ? 'yes' : 'no' });

/** Result of each kind of step for a person, and its effect on them. */
const STEPS: Readonly<Record<Exclude<Kind, 'split'>, (person: Person) => Taken>> = {
  mail: ({ news }) => (news === 'SUBSCRIBED' ? DONE : SKIPPED),
  wait: () => ({ result: ' WAITING', branch: '' }),
  morning: () => ({ result: ' WAITING', branch: '' }),
  hook: ({ isRefused }) => (isRefused ? { result: ' FAILED', branch: '' } : DONE),
  isPro: ({ isPro }) => asked(isPro),
  isMember: ({ isMember }) => asked(isMember),
  hasOther: ({ other }) => asked(other === 'SUBSCRIBED'),
  // Nobody confirms it.
  hasDouble: () => asked(false),
  becomesPro: ({ isPro, isMember }) => (isPro && isMember ? { result: ' CONVERTED', branch: '' } : DONE),
  join: ({ news }) => (news === 'UNSUBSCRIBED' ? SKIPPED : DONE),
  leave: (person) => {
    person.news = 'UNSUBSCRIBED';
    return DONE;
  },
  joinOther: (person) => {
    if (person.other === 'UNSUBSCRIBED') return SKIPPED;
    person.other = 'SUBSCRIBED';
    return DONE;
  },
  leaveOther: (person) => {
    if (person.other === 'SUBSCRIBED') person.other = 'UNSUBSCRIBED';
    return DONE;
  },
  joinDouble: () => DONE,
  add: (person) => {
    person.isMember = true;
    return DONE;
  },
  remove: (person) => {
    person.isMember = false;
    return DONE;
  },
  setPro: (person) => {
    person.isPro = true;
    return DONE;
  },
  awaits: () => ({ result: ' WAITING', branch: '' }),
  becomes: ({ isPro }) => (isPro ? { result: '', branch: 'happened' } : { result: ' WAITING', branch: '' }),
  // The event has no such property.
  setMissing: () => ({ result: ' FAILED', branch: '' }),
};

/** The way of one person, told plainly. */
export class Reading {
  status = 'ACTIVE';
  readonly #steps: string[] = ['start'];
  #at: string | undefined;

  constructor(
    readonly person: Person,
    private readonly model: Model,
    private readonly automationId: string,
  ) {
    this.#follow('start', '');
    this.#walk();
  }

  get path(): string {
    return `${this.status}: ${this.#steps.join(', ')}`;
  }

  /** The wait is over. */
  wake(): void {
    const kind = this.#kind;
    if (kind === 'becomes' && this.person.isPro) this.#resume('happened');
    else this.#resume(kind === 'awaits' || kind === 'becomes' ? 'timeout' : '');
  }

  /** The event happens, which may be what it waits for. */
  happens(): void {
    if (this.#kind === 'awaits') this.#resume('happened');
  }

  get #kind(): Kind | 'start' | undefined {
    return this.model.nodes.find(({ id }) => id === this.#at)?.kind;
  }

  #resume(branch: string): void {
    const waiting = this.#steps.at(-1);
    if (this.status !== 'ACTIVE' || this.#at === undefined || waiting === undefined) return;
    this.#steps[this.#steps.length - 1] = waiting.replace(' WAITING', '');
    this.#follow(this.#at, branch);
    this.#walk();
  }

  /** The person is no more. */
  erase(): void {
    if (this.status !== 'ACTIVE') return;
    this.status = 'CANCELLED';
    this.#steps.push(...this.#steps.splice(-1).map((step) => step.replace(' WAITING', '')));
  }

  #follow(source: string, branch: string): void {
    this.#at = this.model.ways.find((way) => way.source === source && way.branch === branch)?.target;
  }

  #walk(): void {
    for (;;) {
      const node = this.model.nodes.find(({ id }) => id === this.#at);
      if (node === undefined || node.kind === 'start') {
        this.status = 'COMPLETED';
        return;
      }
      if (this.model.membersLeave && this.person.isMember) {
        this.#steps.push(`${node.id} SKIPPED`);
        this.status = 'CANCELLED';
        return;
      }
      const { result, branch } = this.#take(node.id, node.kind);
      this.#steps.push(`${node.id}${result === ' CONVERTED' ? '' : result}`);
      if (result === ' CONVERTED') this.status = 'CONVERTED';
      if (result === ' CONVERTED' || result === ' WAITING') return;
      this.#follow(node.id, branch);
    }
  }

  #take(id: string, kind: Kind): Taken {
    if (kind !== 'split') return STEPS[kind](this.person);
    const side = splitSide({ a: 50, b: 50 }, this.person.id, `${this.automationId}/${id}`);
    return { result: '', branch: side };
  }
}

/** An automation and all who go through it, told plainly: time goes on by waits, and nothing ever breaks. */
export class PlainReading {
  readonly readings: Reading[] = [];

  constructor(
    private readonly automationId: string,
    public model: Model,
  ) {}

  /** Something happened to the person, so many times at once. */
  happens(person: Person, times = 1): void {
    const before = this.readings.filter((reading) => reading.person === person);
    const { reEntry } = this.model;
    const isBarred =
      reEntry === 'ONCE' ? before.length > 0 : before.some(({ status }) => status === 'ACTIVE');
    for (const reading of before) reading.happens();
    if (reEntry !== 'ALWAYS' && isBarred) return;
    for (let entry = 0; entry < (reEntry === 'ALWAYS' ? times : 1); entry += 1)
      this.readings.push(new Reading(person, this.model, this.automationId));
  }

  /** Every wait is over. */
  wake(): void {
    for (const reading of this.readings) reading.wake();
  }

  erase(person: Person): void {
    for (const reading of this.readings) if (reading.person === person) reading.erase();
  }

  /** Entered, completed, inside. */
  get totals(): readonly [number, number, number] {
    const having = (...statuses: readonly string[]) =>
      this.readings.filter(({ status }) => statuses.includes(status)).length;
    return [this.readings.length, having('COMPLETED', 'CONVERTED'), having('ACTIVE')];
  }
}
