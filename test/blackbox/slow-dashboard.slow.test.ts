import { afterEach, describe, expect, test } from 'vitest'
import { Dashboard } from '#bench/dashboard'
import { EventClient, streamHead } from '#test/blackbox/event-client'
import { LinkClient } from '#test/blackbox/link-client'
import { type Environment, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** Large frames, so that few of them fill the buffers of the kernel, which are some megabytes for each socket. */
const textCharacters = 50_000
const service = 'camera'
/** The picture is in every frame; each note is in one frame only. */
const picture = 1
const firstNote = 100
const notes = 200
const cameras = 4
const floodFrames = 2_000
/** More frames than the buffers of the kernel on both sides of a socket hold, about 10 MB. */
const bufferedFramesMax = 350

/** Contract 4.5: a slow client stays connected, is notified of lost events, and delays no other client. */
describe('a dashboard that does not read', () => {
  let server: StartedServer
  let link: LinkClient
  let slow: Dashboard
  let quick: EventClient
  const addresses: number[] = []
  let frame = 0

  async function begin(environment: Environment = {}): Promise<void> {
    server = await StartedServer.start(environment)
    frame = 0
    link = await LinkClient.open(server, 'json')
    const properties = [{ propId: picture, type: 'STRING' }]
    for (let note = 0; note < notes; note++) properties.push({ propId: firstNote + note, type: 'UINT32' })
    addresses.length = 0
    for (let camera = 0; camera < cameras; camera++) {
      const { flakeAddress } = await link.hello(`CAM-${camera}`, [{ serviceIdentifier: service, properties }])
      addresses.push(flakeAddress)
    }
    slow = new Dashboard({ url: new URL(server.base).origin, from: 'state' })
    slow.start()
    await until(() => slow.isLive, 'the dashboard to be live')
    quick = await EventClient.open(server)
  }
  afterEach(async () => {
    slow?.stop()
    await server?.finish()
  })

  /**
   * Sends frames of all cameras in turn, and waits for the quick client, which runs on the same thread. If the slow client
   * delayed the quick one, this would not end.
   */
  async function flood(frames: number): Promise<void> {
    const padding = 'picture '.repeat(textCharacters / 8)
    const receivedBefore = quick.events.length
    let sent = 0
    for (const end = frame + frames; frame < end; frame++, sent++) {
      const address = addresses[frame % cameras] as number
      const seq = Math.floor(frame / cameras) + 1
      const updates = [picture, `${frame} ${padding}`]
      const note = Math.floor(frame / cameras / 2)
      link.send(['U', address, seq, 0, note < notes ? [...updates, firstNote + note, frame] : updates])
      if (sent % 20 === 19)
        await until(() => quick.events.length > receivedBefore + sent, 'the quick client to receive it')
      link.waiting.length = 0
    }
  }

  test('is caught up when it reads again, and the others receive everything meanwhile', async () => {
    await begin()
    await flood(20)
    expect(await slow.caughtUp(20_000)).toBe(true)
    const eventsBefore = slow.counts.events
    const head = await streamHead(server)
    slow.stall()
    await flood(floodFrames)
    // The quick client receives every frame while the slow one stalls.
    await quick.caughtUp(server)
    const received = quick.of('OBJECT_UPDATED').filter(({ offset }) => offset > head.offset)
    expect(received.map(({ updates }) => parseInt(String(updates[0]?.value), 10))).toEqual(
      Array.from({ length: floodFrames }, (_, index) => 20 + index),
    )
    const position = slow.position?.offset ?? 0
    expect(position).toBeLessThan(quick.lastOffset)

    slow.unstall()
    expect(await slow.caughtUp(20_000)).toBe(true)
    expect(slow.faults).toEqual([])
    expect(await slow.differences()).toEqual([])
    // It was behind: it did not receive overwritten values.
    expect(slow.counts.events - eventsBefore).toBeLessThan(received.length)
    expect(slow.counts).toMatchObject({ connections: 1, notRecovered: 0, resyncs: 0 })

    // It is live again.
    const events = slow.counts.events
    await flood(20)
    expect(await slow.caughtUp(20_000)).toBe(true)
    expect(slow.counts.events - events).toBeGreaterThanOrEqual(20)
    expect(slow.faults).toEqual([])
    await quick.close()
  })

  test('behind the retained events it gets RESYNC, reads the full state and continues', {
    timeout: 240_000,
  }, async () => {
    await begin({ STREAM_RETENTION_MB: '1' })
    slow.stall()
    const before = slow.position?.offset ?? 0
    const retainedFrom = async () => {
      const { json } = await server.get('/health/status')
      return (json as { stream: { retainedFrom: number } }).stream.retainedFrom
    }
    await flood(floodFrames)
    await until(
      async () => {
        await flood(20)
        return (await retainedFrom()) > before + bufferedFramesMax
      },
      'the stream to be cut after its position',
      60_000,
    )
    slow.unstall()
    expect(await slow.caughtUp(20_000)).toBe(true)
    expect(slow.counts).toMatchObject({ connections: 1, resyncs: 1, notRecovered: 0, fullReads: 2 })
    expect(slow.faults).toEqual([])
    expect(await slow.differences()).toEqual([])
    await flood(20)
    expect(await slow.caughtUp(20_000)).toBe(true)
    expect(await slow.differences()).toEqual([])
    await quick.caughtUp(server)
    expect(quick.controls.filter(({ type }) => type === 'RESYNC')).toEqual([])

    // Resuming from its old position is refused completely.
    const { epoch } = await quick.stream()
    const late = await EventClient.open(server, { epoch, offset: before })
    expect(await late.stream()).toMatchObject({ recovered: false })
    await late.close()
  })
})
