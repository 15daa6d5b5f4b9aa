import { expect, test } from 'vitest'
import { defaultTenant } from '#actors/tenant/state'
import { keys } from '#store/key-space'
import { levelStorage } from '#store/level'
import { pack } from '#store/record-codec'
import { FirmwareFixture } from '#test/routes/firmware-fixture'
import { folderOfTest } from '#test/temporary-folder'

test('a start that fails because of corrupt data unlocks the data folder', async () => {
  const folder = folderOfTest()
  const backend = levelStorage({ folder, headroomBytes: 0 })
  const storage = await backend.open()
  await storage.write([{ key: keys.redo(defaultTenant), value: pack('nonsense') }], { sync: true })
  await storage.close()
  await expect(FirmwareFixture.open({}, backend)).rejects.toThrow()
  await (await backend.open()).close()
})
