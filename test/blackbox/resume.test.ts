import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EventClient, type Position, type StreamMessage } from '#test/blackbox/event-client'
import { LinkClient } from '#test/blackbox/link-client'
import { climate, degrees, sensor } from '#test/blackbox/sensor'
import { type Environment, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** Contract 4.4: a client that resumes from a position misses no event and receives none twice. */
describe('resuming', () => {
  let server: StartedServer
  let link: LinkClient
  let flakeAddress: number
  let seq: number

  beforeEach(async () => {
    server = await StartedServer.start()
    seq = 0
    await connectDevice()
  })
  afterEach(() => server?.finish())

  async function connectDevice() {
    link = await LinkClient.open(server, 'json')
    const welcome = await link.hello('RESUME', sensor, { session: 'boot' })
    expect(welcome.seq).toBeGreaterThanOrEqual(seq)
    flakeAddress = welcome.flakeAddress
    seq = welcome.seq
  }

  /** Reports the next values and waits until they are stored. */
  async function report(count: number) {
    const first = seq + 1
    await link.report(flakeAddress, first, climate, ...Array.from({ length: count }, (_, at) => [degrees(first + at)]))
    seq += count
  }

  const valuesIn = (client: EventClient) => client.of('OBJECT_UPDATED').map(({ updates }) => updates[0]?.value)
  const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, index) => first + index)

  async function resumed(position: Position, query: Environment = {}): Promise<[EventClient, StreamMessage]> {
    const client = await EventClient.open(server, { ...query, epoch: position.epoch, offset: position.offset })
    return [client, await client.stream()]
  }

  test('killed twice during a flood: no acknowledged report is lost, no event is received twice', async () => {
    const values: unknown[] = []
    let position: Position = await (await EventClient.open(server)).stream()
    const first = position.offset
    for (let round = 0; round < 2; round++) {
      const [client, stream] = await resumed(position)
      expect(stream).toMatchObject({ recovered: true, offset: position.offset })
      const flood = setInterval(() => {
        for (let count = 0; count < 20; count++) {
          seq += 1
          link.send({ type: 'UPDATE', flakeAddress, seq, serviceIdentifier: climate, updates: [degrees(seq)] })
        }
      }, 2)
      const wanted = values.length + 200
      await until(() => values.length + client.of('OBJECT_UPDATED').length >= wanted, 'some events of the flood')
      await server.kill()
      clearInterval(flood)
      await Promise.all([client.closed(), link.closed()])
      client.check()
      const acknowledged = Math.max(0, ...link.waiting.map((frame) => Number((frame as { seq?: number }).seq ?? 0)))
      values.push(...valuesIn(client))
      position = { epoch: stream.epoch, offset: client.lastOffset }
      await server.startAgain()
      seq = 0
      await connectDevice()
      // All acknowledged reports and all published events are stored.
      expect(seq).toBeGreaterThanOrEqual(acknowledged)
      expect(seq).toBeGreaterThanOrEqual(Number(values.at(-1)))
    }
    const [client, stream] = await resumed(position)
    expect(stream).toMatchObject({ recovered: true })
    await report(10)
    await client.caughtUp(server)
    values.push(...valuesIn(client))
    expect(values).toEqual(upTo(seq))
    const { json } = await server.get(`/devices/RESUME/services/${climate}/properties`)
    expect(json).toMatchObject({ 8192: { value: seq } })
    const [fromStart] = await resumed({ epoch: stream.epoch, offset: first })
    await fromStart.caughtUp(server)
    expect(valuesIn(fromStart)).toEqual(upTo(seq))
    await client.close()
    await fromStart.close()
  })
})
