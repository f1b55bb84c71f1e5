import { Global, Module } from '@nestjs/common';
import { ContentPools } from './content-processes.service.js';

/** For all contexts of the process, since one that compiles content takes most of a second to start. */
class SharedPools extends ContentPools {
  override close(): void {
    // A context that ends leaves them to the others.
  }
}

const pools = new SharedPools();

@Global()
@Module({ providers: [{ provide: ContentPools, useValue: pools }], exports: [ContentPools] })
export class SharedPoolsModule {}
