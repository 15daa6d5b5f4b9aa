import { expect, test } from 'vitest'
import { declaredServices, newShapesMax } from '#link/declaration'
import { HelloMessage } from '#model/link-message'
import { Shapes } from '#store/shapes'
import { LinkFixture } from '#test/link/link-fixture'

function declared(services: unknown, shapes = new Shapes(() => undefined)) {
  const message = HelloMessage.parse({ type: 'HELLO', deviceIdentifier: 'A', services })
  return declaredServices(message.services, shapes.intern)
}

const service = (properties: unknown[], serviceIdentifier = 'svc') => ({ serviceIdentifier, properties })

test('values get the indexes of their properties, in the order of the ids', () => {
  const [one] = declared([
    service([
      { propId: 9, type: 'string', value: 'x' },
      { propId: 1, type: 'uint8' },
      { propId: 5, type: 'Int64', value: 7 },
    ]),
  ])
  expect(one?.shape.properties.map(({ propId, type }) => [propId, type.name])).toEqual([
    [1, 'uint8'],
    [5, 'int64'],
    [9, 'string'],
  ])
  expect(one?.items).toEqual([1, 7, 2, 'x'])
})

test('declarations with the same properties share a shape in any order; another modifier or service has its own', () => {
  const shapes = new Shapes(() => undefined)
  const properties = [
    { propId: 1, type: 'uint8' },
    { propId: 2, type: 'bool', modifier: { isReadOnly: true } },
  ]
  const [one] = declared([service(properties)], shapes)
  const [other] = declared([service([...properties].reverse())], shapes)
  expect(other?.shape).toBe(one?.shape)
  const [third] = declared(
    [service([{ propId: 1, type: 'uint8', modifier: { isVolatile: true } }, properties[1]])],
    shapes,
  )
  expect(third?.shape).not.toBe(one?.shape)
  const [fourth] = declared([service(properties, 'other')], shapes)
  expect(fourth?.shape.id).not.toBe(one?.shape.id)
})

test('a declared modifier cannot set isError or isArray: the type decides isArray', () => {
  const modifier = { isReadOnly: true, isError: true, isArray: true }
  const [one] = declared([
    service([
      { propId: 1, type: 'uint8', modifier },
      { propId: 2, type: 'uint8-array', modifier: { isActionable: true } },
    ]),
  ])
  expect(one?.shape.properties.map((property) => property.modifier)).toEqual([1, 2 + 16])
})

test.each([
  ['uint8', 256],
  ['uint8', null],
  ['bool', 0],
  ['uint16-array', [65_536]],
  ['string', 5],
])('a value that does not fit %s is refused with its path and property: %j', (type, value) => {
  const services = [
    service([{ propId: 1, type: 'bool' }], 'first'),
    service([
      { propId: 8, type: 'bool' },
      { propId: 3, type, value },
    ]),
  ]
  const problem = {
    code: 'value_bad',
    message: expect.stringContaining('property 3 of svc must be'),
    details: [expect.objectContaining({ path: 'services.1.properties.1.value' })],
  }
  expect(() => declared(services)).toThrow(expect.objectContaining(problem))
})

test('a service may have no properties', () => {
  expect(declared([service([])])).toMatchObject([{ items: [], shape: { properties: [] } }])
})

test('a device may declare 256 new services at once, then one a minute, and stays connected', async () => {
  const setup = await LinkFixture.open()
  const link = setup.connect()
  /** Sends HELLO with services that have a new shape for each `from`. */
  const hello = async (device: string, from: number, count = 64) => {
    const property = (place: number) => ({ propId: from + place, type: 'UINT8' })
    const services = Array.from({ length: count }, (_, place) => service([property(place)], `s${place}`))
    link.hello(device, { services })
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
  await setup.world.advance(120_000)
  expect([await hello('A', 800_000, 3), await hello('A', 800_000, 2)]).toEqual(['ERROR', 'WELCOME'])
})
