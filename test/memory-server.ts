import type { AssemblyOptions } from '#app/assembly-options'
import { defaultImageBytesMax } from '#firmware/options'
import { History } from '#history/history'
import { defaultLimits } from '#history/retention'
import type { World } from '#runtime/world'
import { MemoryMail } from '#test/notifications/memory-mail'
import { MemoryReceivers } from '#test/notifications/memory-receivers'
import { memoryStorage } from '#test/store/memory'
import { memoryBlobs } from '#test/store/memory-blobs'

/** History in memory, in this thread. */
export function memoryHistory(world: World): NonNullable<AssemblyOptions['history']> {
  const failed = (error: unknown) => {
    throw error
  }
  return ({ shapes }) =>
    new History({ world, backend: memoryStorage(), setAside: async () => {}, shapes, limits: defaultLimits, failed })
}

/** Options of a server with store, images and mails in memory, without sockets and log. */
export function memoryServerOptions(world: World): AssemblyOptions {
  return {
    world,
    storage: { backend: memoryStorage(), isSynced: false, retention: { bytesMax: 2 ** 20, ageMsMax: 3_600_000 } },
    publisher: { publish: () => {} },
    updates: { images: memoryBlobs({ bytesMax: defaultImageBytesMax }) },
    notifications: { mail: new MemoryMail(), webhookSender: new MemoryReceivers() },
    log: { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} },
  }
}
