import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defaultTenant } from '#actors/tenant/address'
import { assemble } from '#src/assembly'
import { keys } from '#store/keys'
import { levelPlace } from '#store/level'
import { pack } from '#store/record-codec'
import { world } from '#test/server/door'

test('a start that fails of what it reads gives the folder back', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'assembly-'))
  try {
    const place = levelPlace({ folder, headroomBytes: 0 })
    const storage = await place.open()
    await storage.write([{ key: keys.redo(defaultTenant), value: pack('nonsense') }], { sync: true })
    await storage.close()
    const assembly = assemble({
      world,
      place,
      publisher: { publish: () => {} },
      isSynced: false,
      retention: { bytesMax: 2 ** 20, ageMsMax: 3_600_000 },
      ticketLifetimeMs: 30_000,
      log: { error: console.error, warn: () => {}, info: () => {}, debug: () => {} },
    })
    await expect(assembly.open()).rejects.toThrow()
    await (await place.open()).close()
  } finally {
    rmSync(folder, { recursive: true })
  }
})
