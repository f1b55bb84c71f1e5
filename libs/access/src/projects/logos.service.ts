import { Inject, Injectable } from '@nestjs/common';
import { DomainValidationError } from '#kernel';
import { OutgoingHttp, OutgoingHttpError } from '#platform';
import { imageType } from './image-type.js';
import { changeFaults, type ProjectChanges } from './project-changes.js';

/** Looks at the pictures that projects name as their logos. */
@Injectable()
export class Logos {
  constructor(@Inject(OutgoingHttp) private readonly http: OutgoingHttp) {}

  /**
   * Refuses changes with all that is wrong with them, the picture included, which is loaded: not to be called within a
   * transaction. Throws `DomainValidationError`.
   */
  async judge(changes: ProjectChanges): Promise<void> {
    const faults = changeFaults(changes);
    const { logoUrl = null } = changes;
    const field = 'brand.logoUrl';
    const fault = logoUrl === null || field in faults ? null : await this.#faultOf(logoUrl);
    if (fault !== null) faults[field] = fault;
    if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
  }

  async #faultOf(url: string): Promise<string | null> {
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
