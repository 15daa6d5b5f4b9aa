import { expect, test } from 'vitest'
import { newShapesMax } from '#link/declaration'
import { LinkStage } from '#test/link/link-stage'

const minuteMs = 60_000

/** A service whose shape is another for each number. */
const services = (from: number, count: number) =>
  Array.from({ length: count }, (_, place) => ({
    serviceIdentifier: `s${place}`,
    properties: [{ propId: from + place, type: 'UINT8' }],
  }))

test('a device may declare some new services at once, and then one a minute; its link and others go on', async () => {
  const room = await LinkStage.open()
  const link = room.connect()
  const hello = async (device: string, from: number, count = 64) => {
    link.hello(device, { services: services(from, count) })
    await room.settle()
    return link.lines.at(-1)?.split(' ')[0]
  }
  for (let times = 0; times < newShapesMax / 64; times++) expect(await hello('A', times * 1_000)).toBe('WELCOME')
  expect(await hello('A', 900_000)).toBe('ERROR')
  expect(link.heard.at(-1)).toMatchObject({ code: 'FLAPPING', message: expect.stringMatching(/256/) })
  const declared = room.device('A').services[0]?.shape.properties[0]?.propId
  expect([declared, link.closedWith]).toEqual([3_000, undefined])
  // The same again is nothing new, and other devices have their own measure.
  expect([await hello('A', 3_000), await hello('B', 0)]).toEqual(['WELCOME', 'WELCOME'])
  await room.world.advance(2 * minuteMs)
  expect([await hello('A', 800_000, 3), await hello('A', 800_000, 2)]).toEqual(['ERROR', 'WELCOME'])
})
