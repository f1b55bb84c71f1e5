import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import {
  cancel,
  Database,
  doneUnlessAborted,
  type JobContext,
  type JobResult,
  ResumableJob,
} from '#platform';
import {
  type ChangeContext,
  type FirstConsents,
  firstConsents,
  type SuppressionReason,
} from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { definitionsDigest } from '../custom-fields/custom-field-values.js';
import type { CustomFieldDefinition } from '../custom-fields/custom-field.js';
import { CustomFieldsQuery } from '../custom-fields/custom-field.repository.js';
import { SubscriberLimitService } from '../subscriber-limit.service.js';
import { ErasedAddressesRepository } from '../suppressions/erased-addresses.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { SuppressionsService, type WantedSuppression } from '../suppressions/suppressions.service.js';
import { takenFieldOf } from '../subscribers/subscriber.errors.js';
import { type GrantableTopic, grantFault } from '../topics/topic.js';
import { TopicRepository } from '../topics/topic.repository.js';
import { ImportDecisions } from './import-decisions.js';
import { type FaultyRow, isReadable, readReason, readRow } from './import-row.js';
import { Import, type RowRange, rowRanges, type StagedRow } from './import.js';
import { ImportRepository, runImport } from './import.repository.js';
import { ImportedSubscribersRepository } from './imported-subscribers.repository.js';
import { StagedRowsRepository } from './staged-rows.repository.js';

/** Rows in one transaction. Each locks its address, and PostgreSQL by default has some 8 000 locks in total. */
const CHUNK_ROWS = 1_000;
/** Chunks in parallel: more than two would wait for each other in the indexes. */
const CHUNKS_AT_ONCE = 2;
/** The mails are due at this pace at most: a million of them must not delay the confirmations of others. */
const MAILS_A_SECOND = 500;

/** Tries, some hours with the backoff; an import that still fails needs the client. */
const TRIES = 20;
/** Tries of a chunk that meets external ids being given away. */
const CHUNK_TRIES = 5;

/** The state of the project on which rows are applied, fixed until the transaction ends. */
interface ImportTerms {
  readonly topics: readonly GrantableTopic[];
  /** The consents of new subscribers. */
  readonly first: FirstConsents;
  readonly definitions: readonly CustomFieldDefinition[];
  /** The rows were checked with the current definitions. */
  readonly areAsChecked: boolean;
  /** New subscribers that the plan allows, at most one for each row. */
  readonly room: number;
  readonly context: ChangeContext;
}

/** Applies imports to subscribers and consents, chunk by chunk: the changes and the removal of its rows are one transaction. */
@Injectable()
export class ImportRunsService {
  constructor(
    private readonly database: Database,
    private readonly imports: ImportRepository,
    private readonly staged: StagedRowsRepository,
    private readonly subscribers: ImportedSubscribersRepository,
    private readonly suppressions: SuppressionRepository,
    private readonly suppressionList: SuppressionsService,
    private readonly erased: ErasedAddressesRepository,
    private readonly consents: ConsentRepository,
    private readonly topics: TopicRepository,
    private readonly customFields: CustomFieldsQuery,
    private readonly limit: SubscriberLimitService,
    private readonly clock: Clock,
  ) {}

  @ResumableJob(runImport)
  async runQueued(
    scope: ProjectScope,
    { importId }: { importId: string },
    { failures, signal }: JobContext,
  ): Promise<JobResult> {
    if (failures >= TRIES) {
      const reason = 'It failed again and again.';
      await this.imports.end(scope, importId, reason, this.clock.now());
      return cancel(reason);
    }
    await this.run(scope, importId, signal);
    return doneUnlessAborted(signal);
  }

  /** Applies the remaining rows, until the end or until `signal` is aborted. */
  async run(scope: ProjectScope, importId: string, signal: AbortSignal): Promise<void> {
    const begun = await this.imports.begin(scope, importId);
    if (begun === null) return;
    const { plan, firstRow } = begun;
    const ranges = rowRanges(firstRow, plan.total, CHUNK_ROWS);
    const stop = (): void => void ranges.return();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const begunAt = this.clock.now().getTime();
    const mailsDueAt = ({ first }: RowRange) =>
      new Date(begunAt + (1_000 * (first - firstRow)) / MAILS_A_SECOND);
    const loops = Array.from({ length: plan.kind === 'SUPPRESSIONS' ? 1 : CHUNKS_AT_ONCE }, () =>
      this.#applyChunks(scope, plan, ranges, mailsDueAt),
    );
    // Wait for all, so that none is still running when this ends.
    const ended = await Promise.allSettled(loops);
    signal.removeEventListener('abort', stop);
    const refusals = ended.map((loop) => {
      if (loop.status === 'rejected') throw loop.reason;
      return loop.value;
    });
    if (signal.aborted) return;
    const refusal = refusals.find((reason) => reason !== null) ?? null;
    await this.imports.end(scope, importId, refusal, this.clock.now());
  }

  /** Applies chunks until there are none. Returns why the import cannot go on, or null. */
  async #applyChunks(
    scope: ProjectScope,
    plan: Import,
    ranges: Generator<RowRange>,
    mailsDueAt: (range: RowRange) => Date,
  ): Promise<string | null> {
    for (const range of ranges) {
      const refusal = await this.#applyChunk(scope, plan, range, mailsDueAt(range));
      if (refusal !== null) return refusal;
    }
    return null;
  }

  /** Applies the remaining rows of a range, anew where somebody took one of its external ids meanwhile. */
  async #applyChunk(
    scope: ProjectScope,
    plan: Import,
    range: RowRange,
    mailsDueAt: Date,
  ): Promise<string | null> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#applyOnce(scope, plan, range, mailsDueAt);
      } catch (error) {
        if (tries === CHUNK_TRIES || takenFieldOf(error) === null) throw error;
      }
    }
  }

  /** Applies the remaining rows of a range, all or nothing. Returns why the import cannot go on, or null. */
  #applyOnce(scope: ProjectScope, plan: Import, range: RowRange, mailsDueAt: Date): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      // A crash of PostgreSQL loses the last chunks whole, with the removal of their rows. The end of the import and each mail
      // are committed durably, and so all before them. A kept plan may be older than the rows: it must take indexes.
      await sql`select set_config('synchronous_commit', 'off', true), set_config('enable_seqscan', 'off', true)`.execute(
        this.database.tables(),
      );
      const rows = await this.staged.lockAddresses(scope, plan.id, range);
      if (rows === 0) return null;
      if (plan.suppressionReason !== null) return this.#suppress(scope, plan, plan.suppressionReason, range);
      const terms = await this.#terms(scope, plan, rows, mailsDueAt);
      if ('refusal' in terms) return terms.refusal;
      // Creates subscribers without reading rows when no row can be refused because of others.
      const isQuick = terms.areAsChecked && terms.room >= rows;
      const made = isQuick
        ? await this.subscribers.make(scope, plan.id, range, terms.first, terms.context)
        : 0;
      const others = made === rows ? [] : await this.staged.take(scope, plan.id, range);
      if (made + others.length !== rows) throw new Error('Another worker continued this import.');
      const { created, updated, skipped, failed, notes } = await this.#applyRows(
        scope,
        plan,
        others,
        terms,
        made,
      );
      const progress = { created: made + created.length, updated: updated.length, skipped, failed };
      await this.imports.advance(scope, plan.id, progress, notes);
      return null;
    });
  }

  async #suppress(
    scope: ProjectScope,
    { id, columns, proof }: Import,
    otherwise: SuppressionReason,
    range: RowRange,
  ): Promise<null> {
    const notes: FaultyRow[] = [];
    const wanted: WantedSuppression[] = [];
    for (const staged of await this.staged.take(scope, id, range)) {
      const row = readRow(columns, staged);
      const reason = isReadable(row) ? readReason(columns, staged, row, otherwise) : row;
      if (typeof reason !== 'string') notes.push(reason);
      else if (isReadable(row)) wanted.push({ address: row.address, reason });
    }
    const keys = [...new Set(wanted.map(({ address }) => address.key))];
    const before = await this.suppressions.suppressedAmong(scope, keys, 'MARKETING');
    for (const round of onceEach(wanted))
      await this.suppressionList.suppressEach(scope, round, (source) => ({ ...proof, source }));
    const created = keys.length - before.size;
    const progress = { created, updated: 0, skipped: wanted.length - created, failed: notes.length };
    await this.imports.advance(scope, id, progress, notes);
    return null;
  }

  /** The terms for `rows` rows, whose addresses are locked; or why the import cannot go on. */
  async #terms(
    scope: ProjectScope,
    { topicKeys, definitionsDigest: digest, proof }: Import,
    rows: number,
    mailsDueAt: Date,
  ): Promise<ImportTerms | { readonly refusal: string }> {
    const topics = await this.topics.named(scope, topicKeys);
    const refusals = topicKeys.flatMap((key) => {
      const fault = grantFault(topics.get(key));
      return fault === null ? [] : [`${key} ${fault}`];
    });
    if (refusals.length > 0) return { refusal: refusals.join(', ') };
    const definitions = await this.customFields.definitionsToWrite(scope);
    const at = this.clock.now();
    return {
      topics: [...topics.values()],
      first: firstConsents([...topics.values()], at),
      definitions,
      areAsChecked: digest === definitionsDigest(definitions),
      room: await this.limit.reserve(scope, rows),
      context: { at, proof, mailsDueAt },
    };
  }

  /**
   * Applies rows that have to be read: of existing or suppressed people, with errors, or checked with other definitions. `made`:
   * subscribers already created from the chunk.
   */
  async #applyRows(
    scope: ProjectScope,
    plan: Import,
    rows: readonly StagedRow[],
    terms: ImportTerms,
    made: number,
  ): Promise<ImportDecisions> {
    if (rows.length === 0) return new ImportDecisions([], []);
    const { topics, context, room } = terms;
    const decisions = await this.#decide(scope, plan, rows, terms);
    decisions.refuseBeyond(room - made);
    const { created, updated } = decisions;
    for (const alike of Map.groupBy(created, ({ left }) => left?.map(({ id }) => id).join() ?? '').values()) {
      const granted = topics.filter((topic) => alike[0]!.left?.includes(topic) !== true);
      await this.subscribers.insert(scope, alike, firstConsents(granted, context.at), context);
    }
    const returned = created.filter(({ left }) => left !== null).map(({ address }) => address.key);
    await this.erased.restore(scope, returned, context);
    const changed = updated.filter(({ changes }) => Object.keys(changes).length > 0);
    await this.subscribers.update(scope, changed, { actor: 'IMPORT', actorId: plan.id }, context.at);
    const action = plan.resubscribe ? 'grant' : 'offer';
    const order = { subscriberIds: updated.map(({ id }) => id), action, topics } as const;
    const { proof, mailsDueAt } = context;
    const outcomes = await this.consents.change(scope, order, proof, { mailsDueAt });
    decisions.noteRefusals(outcomes, topics);
    return decisions;
  }

  /** Sorts rows into people to create, to update, and refused ones. */
  async #decide(
    scope: ProjectScope,
    plan: Import,
    rows: readonly StagedRow[],
    { definitions, topics }: ImportTerms,
  ): Promise<ImportDecisions> {
    const read = rows.map((staged) => readRow(plan.columns, staged));
    const readable = read.filter(isReadable);
    const externalIds = readable.flatMap(({ fields }) => fields.externalId ?? []);
    const owners = await this.subscribers.ownersOf(scope, externalIds);
    const decisions = new ImportDecisions(definitions, plan.topicKeys, owners);
    for (const row of read) if (!isReadable(row)) decisions.fail(row);
    const keys = readable.map(({ address }) => address.key);
    const known = await this.subscribers.known(scope, keys);
    const suppressed = await this.suppressions.suppressedAmong(scope, keys, 'MARKETING');
    const erased = await this.erased.among(scope, keys);
    for (const row of readable) {
      const { key } = row.address;
      const person = known.get(key);
      const before = erased.get(key);
      const left = topics.filter(({ id }) => !plan.resubscribe && before?.has(id) === true);
      if (suppressed.has(key)) decisions.skip(row, { email: 'is suppressed' });
      else if (person === undefined && left.length === topics.length) decisions.refuse(row, left);
      else if (person === undefined) decisions.create(row, before === undefined ? null : left);
      else if (plan.onConflict === 'SKIP') decisions.skip(row, null);
      else decisions.update(row, person);
    }
    return decisions;
  }
}

/** Sorts suppressions into rounds that each name an address once, in their order; what is the same twice is done once. */
function onceEach(wanted: readonly WantedSuppression[]): WantedSuppression[][] {
  const reasonsOf = new Map<string, Set<SuppressionReason>>();
  const rounds: WantedSuppression[][] = [];
  for (const one of wanted) {
    const reasons = reasonsOf.get(one.address.key) ?? new Set();
    reasonsOf.set(one.address.key, reasons);
    if (reasons.has(one.reason)) continue;
    (rounds[reasons.size] ??= []).push(one);
    reasons.add(one.reason);
  }
  return rounds;
}
