import { expect, test } from 'vitest'
import { newShapesMax } from '#link/declaration'
import { LinkFixture } from '#test/link/link-fixture'

const minuteMs = 60_000

/** Services with a new shape for each `from`. */
const services = (from: number, count: number) =>
  Array.from({ length: count }, (_, place) => ({
    serviceIdentifier: `s${place}`,
    properties: [{ propId: from + place, type: 'UINT8' }],
  }))

test('a device may declare 256 new services at once, then one a minute, and stays connected', async () => {
  const setup = await LinkFixture.open()
  const link = setup.connect()
  const hello = async (device: string, from: number, count = 64) => {
    link.hello(device, { services: services(from, count) })
    await setup.settle()
    return link.lines.at(-1)?.split(' ')[0]
  }
  for (let times = 0; times < newShapesMax / 64; times++) expect(await hello('A', times * 1_000)).toBe('WELCOME')
  expect(await hello('A', 900_000)).toBe('ERROR')
  expect(link.received.at(-1)).toMatchObject({ code: 'FLAPPING', message: expect.stringMatching(/256/) })
  const declared = setup.device('A').services[0]?.shape.properties[0]?.propId
  expect([declared, link.closedWith]).toEqual([3_000, undefined])
  // A repeated declaration is not new, and other devices have their own limit.
  expect([await hello('A', 3_000), await hello('B', 0)]).toEqual(['WELCOME', 'WELCOME'])
  await setup.world.advance(2 * minuteMs)
  expect([await hello('A', 800_000, 3), await hello('A', 800_000, 2)]).toEqual(['ERROR', 'WELCOME'])
})
