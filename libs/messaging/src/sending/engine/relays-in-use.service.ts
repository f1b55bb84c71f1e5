import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { type OwnRelay, RelaysQuery, RelayHealthService, RelayRepository } from '#deliverability';
import { type Config, CONFIG, type SendOutcome, SmtpTransport } from '#platform';
import type { NextMail, OutgoingMail } from '../../deliveries/delivery.js';

/** A place of a relay's rate that nobody used is lost after that: it is of one second. */
const PLACES_LAST_MS = 1_000;
/** A relay with a rate is claimed for so far ahead. */
const AHEAD_S = 2;
/** A relay without a rate is claimed for so many mails a connection. */
const AHEAD_EACH = 10;
/** The time since which a relay counts as used is written so often. */
const TELL_USED_EVERY_MS = 10_000;

/** The mails on the wires to a relay, including those that left before it was changed. */
interface Wires {
  mails: number;
}

/** A project's relay as this worker uses it, for all its streams. */
export class RelayInUse {
  isUsable: boolean;
  /** True once it took mail; set back when that is written. */
  wasUsed = false;
  #places = 0;
  #placesUntil = 0;
  #asking = false;

  constructor(
    readonly relay: OwnRelay,
    private readonly transport: SmtpTransport,
    private readonly repository: RelayRepository,
    private readonly health: RelayHealthService,
    private readonly changed: () => void,
    readonly wires: Wires = { mails: 0 },
  ) {
    this.isUsable = isActive(relay);
  }

  /** The number of mails to have at hand for it. */
  get depth(): number {
    const { connections, ratePerSecond } = this.relay;
    const most = connections * AHEAD_EACH;
    return ratePerSecond === null ? most : Math.min(most, Math.max(1, Math.ceil(ratePerSecond * AHEAD_S)));
  }

  /** The number of mails that may start now. Where its rate leaves none, places are asked for, and `changed` tells of them. */
  freePlaces(): number {
    const { connections, ratePerSecond } = this.relay;
    const free = Math.max(0, connections - this.wires.mails);
    if (ratePerSecond === null || free === 0) return free;
    if (performance.now() >= this.#placesUntil) this.#places = 0;
    if (this.#places === 0) void this.#askForPlaces(ratePerSecond);
    return Math.min(free, this.#places);
  }

  /** A mail that was counted among them starts. */
  start(): void {
    this.#places = Math.max(0, this.#places - 1);
  }

  async deliver(mail: OutgoingMail, next: NextMail): Promise<SendOutcome> {
    this.wires.mails += 1;
    // Its next mail waits for a place, and the relay would wait with it.
    const following = this.relay.ratePerSecond === null ? next : () => undefined;
    const result = await this.transport.send(mail, following).finally(() => (this.wires.mails -= 1));
    if (result.kind === 'route-unavailable') await this.#fail(result.detail);
    else this.wasUsed = true;
    return result;
  }

  close(): Promise<void> {
    return this.transport.close();
  }

  async #fail(detail: string): Promise<void> {
    if (!this.isUsable) return;
    this.isUsable = false;
    this.changed();
    // A failure that is not recorded is met again by the next mail.
    await this.health.failed(this.relay, detail).catch(() => undefined);
  }

  async #askForPlaces(ratePerSecond: number): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    try {
      const wanted = Math.max(1, Math.ceil(ratePerSecond));
      // Without the database none is given.
      this.#places = await this.repository.takePlaces(this.relay, wanted).catch(() => 0);
      this.#placesUntil = performance.now() + PLACES_LAST_MS;
    } finally {
      const wait = this.#places > 0 ? 0 : Math.min(1_000, 1_000 / ratePerSecond);
      setTimeout(() => {
        this.#asking = false;
        this.changed();
      }, wait).unref();
    }
  }
}

/** A project's relays in this worker. */
export class ProjectRelays {
  /** In the order in which they are tried. */
  relays: readonly RelayInUse[] = [];
  /** Changes of them so far. */
  changes = 0;

  constructor(private readonly told: () => void) {}

  changed = (): void => {
    this.changes += 1;
    this.told();
  };
}

/** The relays of the projects whose mail this worker sends, as their rows say. */
@Injectable()
export class RelaysInUseService {
  readonly #projects = new Map<number, ProjectRelays>();
  #toldUsedAt = 0;
  #refreshed: Promise<void> = Promise.resolve();

  constructor(
    private readonly query: RelaysQuery,
    private readonly health: RelayHealthService,
    private readonly repository: RelayRepository,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** The relays of an environment, from the next `refresh` on. `changed`: mail at hand may have to take another way. */
  of(environmentId: number, changed: () => void): ProjectRelays {
    const known = this.#projects.get(environmentId);
    if (known !== undefined) return known;
    const project = new ProjectRelays(changed);
    this.#projects.set(environmentId, project);
    return project;
  }

  /** Nobody sends the environment's mail any more. */
  async forget(environmentId: number): Promise<void> {
    const relays = this.#projects.get(environmentId)?.relays ?? [];
    this.#projects.delete(environmentId);
    await Promise.all(relays.map((relay) => relay.close()));
  }

  /** Reads them anew. Connections of one that was changed end with what is on their wire. */
  refresh(): Promise<void> {
    // One after the other, so that none shows what was so before the last.
    this.#refreshed = this.#refreshed.then(
      () => this.#refresh(),
      () => this.#refresh(),
    );
    return this.#refreshed;
  }

  async #refresh(): Promise<void> {
    const environmentIds = [...this.#projects.keys()];
    if (environmentIds.length === 0) return;
    const rows = Map.groupBy(
      await this.query.ofEnvironments(environmentIds),
      ({ environmentId }) => environmentId,
    );
    for (const [environmentId, project] of this.#projects)
      this.#update(project, rows.get(environmentId) ?? []);
    await this.#tellUsed();
  }

  /** Retries failed relays of all projects. */
  async tryFailing(): Promise<void> {
    if ((await this.health.tryAgain()) > 0) await this.refresh();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#projects.keys()].map((environmentId) => this.forget(environmentId)));
  }

  #update(project: ProjectRelays, rows: readonly OwnRelay[]): void {
    const before = project.relays;
    project.relays = rows.map((row) => {
      const same = before.find(
        ({ relay, isUsable }) => isDeepStrictEqual(relay, row) && isUsable === isActive(row),
      );
      const wires = before.find(({ relay }) => relay.id === row.id)?.wires;
      return same ?? this.#connect(row, project, wires);
    });
    const gone = before.filter((relay) => !project.relays.includes(relay));
    if (gone.length === 0 && project.relays.length === before.length) return;
    project.changed();
    for (const relay of gone) void relay.close();
  }

  #connect(relay: OwnRelay, project: ProjectRelays, wires: Wires | undefined): RelayInUse {
    const transport = new SmtpTransport({
      url: () => this.health.routeTo(relay),
      connections: relay.connections,
      messagesPerConnection: this.config.SMTP_MESSAGES_PER_CONNECTION,
      ehloName: this.config.SMTP_EHLO_NAME,
    });
    return new RelayInUse(relay, transport, this.repository, this.health, project.changed, wires);
  }

  async #tellUsed(): Promise<void> {
    const now = performance.now();
    if (now - this.#toldUsedAt < TELL_USED_EVERY_MS) return;
    const used = [...this.#projects.values()].flatMap(({ relays }) =>
      relays.filter(({ wasUsed }) => wasUsed),
    );
    if (used.length === 0) return;
    this.#toldUsedAt = now;
    for (const relay of used) relay.wasUsed = false;
    await this.health.used(used.map(({ relay }) => relay));
  }
}

const isActive = ({ status }: OwnRelay): boolean => status === 'ACTIVE';
