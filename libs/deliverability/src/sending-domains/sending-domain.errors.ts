import { DomainError } from '#kernel';

/** The environment has a domain already, or another tenant has proved that the name is theirs. */
export class SendingDomainExistsError extends DomainError {
  override readonly code = 'already-exists';

  constructor(readonly reason: 'one-each' | 'taken') {
    super(
      reason === 'one-each'
        ? 'This environment has a sending domain already: change it instead.'
        : 'Another account has verified this domain.',
    );
  }
}
