import { expect, test } from 'vitest'
import { LinkStage } from '#test/link/link-stage'
import { during } from '#test/runtime/stage'
import { rowsOf } from '#test/store/storage-suite'

/** Retains the last chunk alone, and stores a snapshot of a device soon behind each change. */
const limits = {
  retention: { bytesMax: 0, ageMsMax: Number.MAX_SAFE_INTEGER },
  redo: { eventsMax: 2, bytesMax: 1024 * 1024, growth: { eventsPerActor: 8, timesMax: 2 } },
}
const services = (propId: number) => [{ serviceIdentifier: 's', properties: [{ propId, type: 'UINT8', value: 1 }] }]

async function shapeCount(room: LinkStage): Promise<number> {
  const rows = await during(room.world, rowsOf(room.stage.journal.storage))
  return rows.filter(({ key }) => key.startsWith('shape/')).length
}

function swept(room: LinkStage, newMin = 1): Promise<number> {
  return during(room.world, room.stage.database.sweepShapes(newMin))
}

test('shapes go once no device and no retained entry names them', async () => {
  const room = await LinkStage.open(limits)
  const link = room.connect()
  const declare = async (device: string, propId: number) => {
    link.hello(device, { services: services(propId) })
    await room.settle()
  }
  for (const propId of [1, 2, 3]) await declare('A', propId)
  await declare('B', 1)
  expect([await shapeCount(room), await swept(room, 4)]).toEqual([3, 0])
  // Entries of the declarations before are retained.
  expect([await swept(room), await shapeCount(room)]).toEqual([0, 3])
  for (let seconds = 0; seconds < 10; seconds++) {
    await declare('B', 1)
    link.update(room.device('B').flakeAddress, seconds + 1)
    await room.world.advance(1_000)
    await room.settle()
  }
  room.stage.journal.shapes.newCount = 1
  expect([await swept(room), await shapeCount(room)]).toEqual([1, 2])
  // It is stored again with the next declaration of it.
  await declare('A', 2)
  room.stage.crash()
  const again = await LinkStage.open({ ...limits, world: room.world, place: room.stage.place })
  expect(again.device('A').services[0]?.shape.properties).toMatchObject([{ propId: 2 }])
})
