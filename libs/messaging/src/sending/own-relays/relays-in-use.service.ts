import { Inject, Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { type OwnRelay, RelayHealth, RelayRepository, RelayRoutes, RelaysQuery } from '#deliverability';
import { type Config, CONFIG, SmtpTransport } from '#platform';
import { SmtpDelivery } from '../transports/smtp.transport.js';
import type { RelaysOfProject } from './own-relays.route.js';
import { RelayInUse, type Wires } from './relay-in-use.service.js';

/** Since when a relay counts as used is written so often. */
const TELL_USED_EVERY_MS = 10_000;

/** A project's relays in this worker. */
class ProjectRelays implements RelaysOfProject {
  relays: readonly RelayInUse[] = [];
  changes = 0;

  constructor(private readonly told: () => void) {}

  changed = (): void => {
    this.changes += 1;
    this.told();
  };
}

/** The relays of the projects whose mail this worker sends, as their rows say. */
@Injectable()
export class RelaysInUse {
  readonly #projects = new Map<number, ProjectRelays>();
  #toldUsedAt = 0;
  #refreshed: Promise<void> = Promise.resolve();

  constructor(
    private readonly query: RelaysQuery,
    private readonly routes: RelayRoutes,
    private readonly health: RelayHealth,
    private readonly repository: RelayRepository,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Those of an environment, from the next `refresh` on. `changed`: mail at hand may have to take another way. */
  of(environmentId: number, changed: () => void): RelaysOfProject {
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

  /** Looks whether relays that failed, of whatever project, can be used again. */
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
      url: () => this.routes.to(relay),
      connections: relay.connections,
      messagesPerConnection: this.config.SMTP_MESSAGES_PER_CONNECTION,
      ehloName: this.config.SMTP_EHLO_NAME,
    });
    const parts = {
      transport: new SmtpDelivery(transport),
      // Without the database none is given, and a failure is told of by the next mail that fails.
      takePlaces: (wanted: number) => this.repository.takePlaces(relay, wanted).catch(() => 0),
      failed: (detail: string) => this.health.failed(relay, detail).catch(() => undefined),
    };
    return new RelayInUse(relay, parts, project.changed, wires);
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
