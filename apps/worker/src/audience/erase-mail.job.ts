import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { MailErasureService } from '#messaging';
import { type Erasure, ErasureJob } from './erasure.job.js';

/** Removes an erased person from deliveries, their events and the test inbox. */
@Injectable()
export class EraseMail extends ErasureJob {
  override readonly name = 'erase-mail';

  constructor(
    private readonly erasure: MailErasureService,
    clock: Clock,
  ) {
    super(clock);
  }

  protected override erase(scope: ProjectScope, person: Erasure): Promise<void> {
    return this.erasure.erase(scope, person);
  }
}
