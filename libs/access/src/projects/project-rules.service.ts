import { Inject, Injectable } from '@nestjs/common';
import { DomainValidationError, hostName } from '#kernel';
import { type Config, CONFIG, OutgoingHttp, OutgoingHttpError } from '#platform';
import { imageType } from './image-type.js';
import { changeFaults, type ProjectChanges } from './project-changes.js';

type OwnHosts = Pick<Config, 'PUBLIC_URL' | 'BOUNCE_HOST'>;

/** Judges changes of a project, also by what only the installation and the world know: its own hosts, and pictures. */
@Injectable()
export class ProjectRules {
  constructor(
    private readonly http: OutgoingHttp,
    @Inject(CONFIG) private readonly config: OwnHosts,
  ) {}

  /**
   * Refuses changes with all that is wrong with them, the logo included, which is loaded: not to be called within a
   * transaction. Throws `DomainValidationError`.
   */
  async judge(changes: ProjectChanges): Promise<void> {
    const faults = changeFaults(changes);
    const { logoUrl = null, trackingHost = null } = changes;
    const logo = 'brand.logoUrl';
    const logoFault = logoUrl === null || logo in faults ? null : await this.#faultOfLogo(logoUrl);
    if (logoFault !== null) faults[logo] = logoFault;
    if (trackingHost !== null && isOurs(trackingHost, this.config))
      faults['trackingHost'] = 'must be a host of your own, not one of this installation';
    if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
  }

  async #faultOfLogo(url: string): Promise<string | null> {
    try {
      const { status, bytes } = await this.http.download({ method: 'GET', url });
      if (status !== 200) return `must be an image that anyone can load: its host answered with ${status}`;
      return imageType(bytes) === null ? 'must be a PNG, JPEG, GIF or WebP image' : null;
    } catch (error) {
      if (!(error instanceof OutgoingHttpError)) throw error;
      return `must be an image that anyone can load. ${error.message}`;
    }
  }
}

/** The hosts that the installation itself answers and takes bounces by, and what is below them. */
function isOurs(trackingHost: string, { PUBLIC_URL, BOUNCE_HOST }: OwnHosts): boolean {
  const host = hostName(trackingHost.trim());
  const own = [new URL(PUBLIC_URL).hostname, BOUNCE_HOST.toLowerCase()];
  return host !== null && own.some((each) => host === each || host.endsWith(`.${each}`));
}
