import { Inject, Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, hostName, NotFoundError, type ProjectScope } from '#kernel';
import { CONFIG, type Config, Database, enqueue, jobType, OutgoingHttp, OutgoingHttpError } from '#platform';
import {
  changeFaults,
  type NewProject,
  Project,
  type ProjectChanges,
  type ProjectProfile,
} from './project.js';
import { ProjectRepository, ProjectsQuery } from './project.repository.js';
import { TenantsService } from './tenants.service.js';

/** Checks that a customer's host for links points here: a project names it, or it is due. */
export const checkTrackingHost = jobType<{ host: string }>('tracking_hosts.check', 'dns');

/** A new project with the scopes of its two environments. */
export interface CreatedProject {
  readonly id: number;
  readonly projectKey: string;
  readonly live: ProjectScope;
  readonly test: ProjectScope;
}

type OwnHosts = Pick<Config, 'PUBLIC_URL' | 'BOUNCE_HOST'>;

/** Projects: made and changed by the operator, their settings changed by their own keys. */
@Injectable()
export class ProjectsService {
  constructor(
    private readonly database: Database,
    private readonly tenants: TenantsService,
    private readonly projects: ProjectRepository,
    private readonly query: ProjectsQuery,
    private readonly http: OutgoingHttp,
    @Inject(CONFIG) private readonly config: OwnHosts,
    private readonly clock: Clock,
  ) {}

  /**
   * Makes a project with both of its environments, or nothing. Throws `DomainValidationError`,
   * `ProjectAlreadyExistsError`, or `NotFoundError` when there is no such tenant.
   */
  async create(tenantId: number, wanted: NewProject): Promise<CreatedProject> {
    const project = new Project(tenantId, wanted, this.clock.now());
    return this.database.system(async () => {
      if ((await this.tenants.find(tenantId)) === null) throw new NotFoundError();
      await this.projects.add(project);
      const { id, projectKey } = project;
      const live = await this.projects.addEnvironment(project, 'LIVE');
      return { id, projectKey, live, test: await this.projects.addEnvironment(project, 'TEST') };
    });
  }

  /** Changes a project for the operator. Throws `DomainValidationError`, or `NotFoundError` without such a project. */
  async change(projectId: number, changes: Omit<ProjectChanges, 'trackingHost'>): Promise<void> {
    await this.#refuseFaults(changes);
    await this.database.system(async () => {
      const project = await this.projects.lock(projectId);
      project.change(changes, this.clock.now());
    });
  }

  /**
   * Changes the settings that live and test share, for the project's own keys. A tracking host that is named is checked anew,
   * also where it stays the same. Throws `DomainValidationError`.
   */
  async changeSettings(
    scope: ProjectScope,
    changes: Omit<ProjectChanges, 'aiSegmentSuggestionsEnabled'>,
  ): Promise<ProjectProfile> {
    const { logoUrl, ...others } = changes;
    // A logo that stays is not loaded again: its host may be down.
    const isOther = logoUrl !== undefined && logoUrl !== (await this.#current(scope)).logoUrl;
    const wanted = isOther ? changes : others;
    await this.#refuseFaults(wanted);
    await this.database.transaction(scope, async () => {
      const project = await this.projects.lock(scope.projectId);
      project.change(wanted, this.clock.now());
      await this.projects.save();
      const { trackingHost: host } = project;
      if (changes.trackingHost !== undefined && host !== null)
        await enqueue(this.database, scope, checkTrackingHost({ host }));
    });
    return this.#current(scope);
  }

  async #current(scope: ProjectScope): Promise<ProjectProfile> {
    const project = await this.query.ofScope(scope);
    if (project === null) throw new NotFoundError();
    return project;
  }

  /** Throws `DomainValidationError` with all faults. Loads the logo, so it must not run within a transaction. */
  async #refuseFaults(changes: ProjectChanges): Promise<void> {
    const faults = changeFaults(changes);
    const { logoUrl = null, trackingHost = null } = changes;
    const logo = 'brand.logoUrl';
    const logoFault = logoUrl === null || logo in faults ? null : await this.#logoFault(logoUrl);
    if (logoFault !== null) faults[logo] = logoFault;
    if (trackingHost !== null && isOurs(trackingHost, this.config))
      faults['trackingHost'] = 'must be a host of your own, not one of this installation';
    if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
  }

  async #logoFault(url: string): Promise<string | null> {
    try {
      const { status, bytes } = await this.http.download({ method: 'GET', url });
      if (status !== 200) return `must be an image that anyone can load: its host answered with ${status}`;
      return isImage(bytes) ? null : 'must be a PNG, JPEG, GIF or WebP image';
    } catch (error) {
      if (!(error instanceof OutgoingHttpError)) throw error;
      return `must be an image that anyone can load. ${error.message}`;
    }
  }
}

/** Includes the hosts below those that the installation serves and takes bounces at. */
function isOurs(trackingHost: string, { PUBLIC_URL, BOUNCE_HOST }: OwnHosts): boolean {
  const host = hostName(trackingHost.trim());
  const own = [new URL(PUBLIC_URL).hostname, BOUNCE_HOST.toLowerCase()];
  return host !== null && own.some((each) => host === each || host.endsWith(`.${each}`));
}

/** First bytes of PNG, JPEG, GIF and WebP in hexadecimal; a dot is any digit (WHATWG MIME Sniffing §6.1). */
const IMAGE = /^(?:89504e470d0a1a0a|ffd8ff|47494638(?:37|39)61|52494646.{8}57454250)/;

/** True for the pictures that mail programs show. */
function isImage(bytes: Uint8Array): boolean {
  return IMAGE.test(Buffer.from(bytes.subarray(0, 12)).toString('hex'));
}
