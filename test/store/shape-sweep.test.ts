import { expect, test } from 'vitest'
import { LinkFixture } from '#test/link/link-fixture'
import { during } from '#test/runtime/runtime-fixture'
import { rowsOf } from '#test/store/storage-suite'

/** Retains the last chunk only, and stores a snapshot of a device soon after each change. */
const limits = {
  retention: { bytesMax: 0, ageMsMax: Number.MAX_SAFE_INTEGER },
  redo: { eventsMax: 2, bytesMax: 1024 * 1024, growth: { eventsPerActor: 8, timesMax: 2 } },
}
const services = (propId: number) => [{ serviceIdentifier: 's', properties: [{ propId, type: 'UINT8', value: 1 }] }]

async function shapeCount(links: LinkFixture): Promise<number> {
  const rows = await during(links.world, rowsOf(links.runtime.journal.storage))
  return rows.filter(({ key }) => key.startsWith('shape/')).length
}

function swept(links: LinkFixture, newMin = 1): Promise<number> {
  return during(links.world, links.runtime.database.sweepShapes(newMin))
}

test('shapes are removed once no device and no retained entry uses them', async () => {
  const links = await LinkFixture.open(limits)
  const link = links.connect()
  const declare = async (device: string, propId: number) => {
    link.hello(device, { services: services(propId) })
    await links.settle()
  }
  for (const propId of [1, 2, 3]) await declare('A', propId)
  await declare('B', 1)
  expect([await shapeCount(links), await swept(links, 4)]).toEqual([3, 0])
  // Entries of the earlier declarations are retained.
  expect([await swept(links), await shapeCount(links)]).toEqual([0, 3])
  for (let seconds = 0; seconds < 10; seconds++) {
    await declare('B', 1)
    link.update(links.device('B').flakeAddress, seconds + 1)
    await links.world.advance(1_000)
    await links.settle()
  }
  links.runtime.journal.shapes.newCount = 1
  expect([await swept(links), await shapeCount(links)]).toEqual([1, 2])
  // The next declaration stores the shape again.
  await declare('A', 2)
  links.runtime.crash()
  const again = await LinkFixture.open({ ...limits, world: links.world, backend: links.runtime.backend })
  expect(again.device('A').services[0]?.shape.properties).toMatchObject([{ propId: 2 }])
})
