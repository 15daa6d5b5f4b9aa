import { afterEach, describe, expect, test } from 'vitest'
import { Dashboard } from '#bench/dashboard'
import { EventClient, streamHead } from '#test/blackbox/event-client'
import { LinkClient } from '#test/blackbox/link-client'
import { type Environment, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** A frame of it is large, so that few of them fill the kernel's buffers, which take some megabytes a socket. */
const textCharacters = 50_000
const service = 'camera'
/** The picture is said in every frame; each note is said once and never again. */
const picture = 1
const firstNote = 100
const notes = 200
const cameras = 4
const floodFrames = 2_000
/** More frames than the kernel's buffers on both sides of a socket hold, 10 MB and some. */
const buffersHold = 350

/** Contract 4.5: neither cut off nor silently lossy, and nobody waits for a slow one. */
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
   * Frames of all cameras in turn. No faster than the quick one hears: it shares our thread, and is meant to be quick.
   * Whoever stalls must not hold it up, or this does not end.
   */
  async function flood(frames: number): Promise<void> {
    const filling = 'picture '.repeat(textCharacters / 8)
    const heardBefore = quick.events.length
    let sent = 0
    for (const end = frame + frames; frame < end; frame++, sent++) {
      const address = addresses[frame % cameras] as number
      const seq = Math.floor(frame / cameras) + 1
      const updates = [picture, `${frame} ${filling}`]
      const note = Math.floor(frame / cameras / 2)
      link.send(['U', address, seq, 0, note < notes ? [...updates, firstNote + note, frame] : updates])
      if (sent % 20 === 19) await until(() => quick.events.length > heardBefore + sent, 'the quick one to hear')
      link.waiting.length = 0
    }
  }

  test('is caught up when it reads again; the others heard everything all the while', async () => {
    await begin()
    await flood(20)
    expect(await slow.caughtUp(20_000)).toBe(true)
    const eventsBefore = slow.counts.events
    const head = await streamHead(server)
    slow.stall()
    await flood(floodFrames)
    // Everybody else has heard all of it while it still stalls: every frame, none left out.
    await quick.caughtUp(server)
    const heard = quick.of('OBJECT_UPDATED').filter(({ offset }) => offset > head.offset)
    expect(heard.map(({ updates }) => parseInt(String(updates[0]?.value), 10))).toEqual(
      Array.from({ length: floodFrames }, (_, index) => 20 + index),
    )
    const position = slow.position?.offset ?? 0
    expect(position).toBeLessThan(quick.lastOffset)

    slow.unstall()
    expect(await slow.caughtUp(20_000)).toBe(true)
    expect(slow.faults).toEqual([])
    expect(await slow.differences()).toEqual([])
    // It was behind, else this shows nothing: what was overridden meanwhile it never heard.
    expect(slow.counts.events - eventsBefore).toBeLessThan(heard.length)
    expect(slow.counts).toMatchObject({ connections: 1, notRecovered: 0, resyncs: 0 })

    // And is live like the others.
    const events = slow.counts.events
    await flood(20)
    expect(await slow.caughtUp(20_000)).toBe(true)
    expect(slow.counts.events - events).toBeGreaterThanOrEqual(20)
    expect(slow.faults).toEqual([])
    await quick.close()
  })

  test('behind what is retained it is told to read the full state again, and goes on from there', {
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
        return (await retainedFrom()) > before + buffersHold
      },
      'the stream to be shortened past where it is',
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

    // Who comes back with the place it had then is not told half of it either.
    const { epoch } = await quick.stream()
    const late = await EventClient.open(server, { epoch, offset: before })
    expect(await late.stream()).toMatchObject({ recovered: false })
    await late.close()
  })
})
