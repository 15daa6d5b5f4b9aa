import type { Assembly } from '#app/assembly'
import type { OperationOptions } from '#routes/bindings'
import { Backups } from '#store/backup/backup-writer'

/** Routes about the process itself, without a disk. */
export function operationOf({ context, database }: Assembly): OperationOptions {
  return {
    dataDirectory: '/',
    databaseStatus: () => 'ok',
    proofOf: () => 'not called',
    handOver: () => {},
    backups: new Backups({
      world: context.world,
      snapshot: () => database.snapshot(),
      images: context.firmware.images,
      keyFile: async () => undefined,
      keepImages: () => context.firmware.imageUses.keepAll(),
      copyHistory: async () => undefined,
      log: { begun: () => {}, done: () => {}, aborted: () => {} },
    }),
  }
}
