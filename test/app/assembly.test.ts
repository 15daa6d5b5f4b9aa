import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defaultTenant } from '#actors/tenant/state'
import { keys } from '#store/key-space'
import { levelPlace } from '#store/level'
import { pack } from '#store/record-codec'
import { FirmwareFixture } from '#test/routes/firmware-fixture'

test('a start that fails on corrupt data unlocks the folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'assembly-'))
  try {
    const place = levelPlace({ folder, headroomBytes: 0 })
    const storage = await place.open()
    await storage.write([{ key: keys.redo(defaultTenant), value: pack('nonsense') }], { sync: true })
    await storage.close()
    await expect(FirmwareFixture.open({}, place)).rejects.toThrow()
    await (await place.open()).close()
  } finally {
    rmSync(folder, { recursive: true })
  }
})
