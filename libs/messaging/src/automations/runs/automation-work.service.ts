import { Injectable } from '@nestjs/common';
import { AutomationEntries } from './automation-entries.service.js';
import { ClosedAutomations } from './closed-automations.service.js';
import { PacedSteps } from './paced-steps.service.js';
import { WaitingWork } from './waiting-work.query.js';

/** Something to do for one automation. */
export interface Piece {
  /** Names it, for its backoff and the log. */
  readonly of: string;
  /** Resolves to whether there may be more of it. */
  readonly work: () => Promise<boolean>;
}

/** Finds what there is to do for automations: creating runs, taking their steps, ending them. */
@Injectable()
export class AutomationWork {
  constructor(
    private readonly waiting: WaitingWork,
    private readonly entries: AutomationEntries,
    private readonly closed: ClosedAutomations,
    private readonly steps: PacedSteps,
  ) {}

  /** All that there is to do now. */
  async pieces(): Promise<readonly Piece[]> {
    if (!(await this.waiting.isAny())) return [];
    const entering = await this.waiting.entries();
    const closing = await this.waiting.closings();
    const due = await this.waiting.versions(false);
    return [
      ...entering.map(({ scope, id }) => ({
        of: `entries of ${id}`,
        work: async () => (await this.entries.drain(scope, id)) > 0,
      })),
      ...closing.map(({ scope, id }) => ({
        of: `closing of ${id}`,
        work: () => this.closed.close(scope, id),
      })),
      ...due.map((version) => ({
        of: `steps of version ${version.versionId}`,
        work: () => this.steps.take(version),
      })),
    ];
  }
}
