import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { callHook, comesTo, hookSecret, put, release, toldOf, trigger } from '#test/blackbox/firmware-fleet'
import { StartedServer } from '#test/blackbox/started-server'
import { type DeviceManner, UpdatingDevice } from '#test/blackbox/updating-device'

/** What begins updates, and what each option leaves of it. Contract 6. */

let server: StartedServer
const open: { cut(): void }[] = []
afterAll(() => server?.finish())

async function linked(name: string, manner: DeviceManner): Promise<UpdatingDevice> {
  const device = await UpdatingDevice.linked(server, name, manner)
  open.push(device)
  return device
}

async function listening(): Promise<EventClient> {
  const events = await EventClient.open(server)
  open.push(events)
  return events
}

const cutAll = () => {
  for (const each of open.splice(0)) each.cut()
}

describe('as it is by default', () => {
  beforeAll(async () => {
    server = await StartedServer.start({ UPDATE_HOOK_SECRET: hookSecret })
  })
  afterAll(async () => {
    cutAll()
    await server.finish()
  })

  test('a device that comes is offered the newest, one that refuses is not', async () => {
    const project = 'connect'
    for (const firmware of ['1.1.0', '1.3.0-rc.1', '1.2.9']) await release(server, `${project}/${firmware}`)
    const events = await listening()
    const refuser = await linked('CONNECT-A', { project, autoUpdate: false })
    const device = await linked('CONNECT-B', { project })
    const offer = await device.offered()
    expect(offer.firmware).toBe('1.3.0-rc.1')
    expect(refuser.offers).toEqual([])
    await device.installs(server, offer)
    await comesTo(server, device.name, 'DONE')
    expect((await toldOf(server, events, device.name))[0]).toBe('0 OFFERING 1.3.0-rc.1')
    const triggered = trigger(server, refuser.name)
    refuser.says(await refuser.offered(), 'STARTED')
    expect(await triggered).toEqual({ status: 'STARTED' })
    expect((await toldOf(server, events, refuser.name))[0]).toBe('0 CHECKING')
  })

  test('the hook: for all of a project or for some', async () => {
    const project = 'hooked'
    const [one, two, refuser] = await Promise.all([
      linked('HOOK-A', { project }),
      linked('HOOK-B', { project }),
      linked('HOOK-0', { project, autoUpdate: false }),
    ])
    await release(server, `${project}/1.1.0`)
    expect(await callHook(server, { project: 'nobody-is-of-it' })).toBe(204)
    expect([one, two, refuser].flatMap(({ offers }) => offers)).toEqual([])
    expect(await callHook(server, { project, body: '{"devices":["hook-b"],"event":"release"}', query: '?x=1' })).toBe(
      204,
    )
    two.says(await two.offered({ firmware: '1.1.0' }), 'STARTED')
    expect(one.offers).toEqual([])
    expect(await callHook(server, { project, body: 'no JSON' })).toBe(204)
    await one.offered({ firmware: '1.1.0' })
    // Looked at in front of it.
    expect(refuser.offers).toEqual([])
  })

  test('pins: also to what is older; without a release of that version the device is held', async () => {
    const project = 'pinned'
    for (const firmware of ['0.9.0', '1.1.0']) await release(server, `${project}/${firmware}`)
    const pin = `${project}/pins/PIN-A`
    expect((await put(server, pin, { firmware: '1.0.5' })).status).toBe(200)
    const held = await linked('PIN-A', { project })
    expect(await trigger(server, held.name)).toEqual({ status: 'NO_UPDATE' })
    expect((await put(server, pin, { firmware: '0.9.0' })).status).toBe(200)
    const triggered = trigger(server, held.name)
    const offer = await held.offered({ firmware: '0.9.0' })
    await held.installs(server, offer)
    expect(await triggered).toEqual({ status: 'STARTED' })
    await comesTo(server, held.name, 'DONE')
    const inUse = await server.ask(`/updates/projects/${project}/releases/0.9.0`, { method: 'DELETE' })
    expect([inUse.status, inUse.json]).toEqual([409, { error: 'the release is in use' }])
    expect((await server.ask(`/updates/projects/${pin}`, { method: 'DELETE' })).status).toBe(204)
    expect(await callHook(server, { project })).toBe(204)
    await held.offered({ firmware: '1.1.0' })
  })
})

describe('DISABLE_CONNECT_UPDATE and HOOK_PINS_ONLY', () => {
  const project = 'boiler'
  beforeAll(async () => {
    server = await StartedServer.start({
      UPDATE_HOOK_SECRET: hookSecret,
      DISABLE_CONNECT_UPDATE: 'on',
      HOOK_PINS_ONLY: 'on',
    })
  })
  afterAll(async () => {
    cutAll()
    await server.finish()
  })

  test('connecting does nothing, and the hook reaches devices with a pin alone', async () => {
    expect(server.run.output).toContain('DISABLE_CONNECT_UPDATE is on without AUTO_UPDATE')
    for (const firmware of ['1.1.0', '1.2.0']) await release(server, `${project}/${firmware}`)
    for (const name of ['OPTION-B', 'OPTION-Z'])
      expect((await put(server, `${project}/pins/${name}`, { firmware: '1.1.0' })).status).toBe(200)
    const events = await listening()
    const free = await linked('OPTION-A', {})
    const refuser = await linked('OPTION-B', { autoUpdate: false })
    const pinned = await linked('OPTION-Z', {})
    expect(await callHook(server)).toBe(204)
    await pinned.offered({ firmware: '1.1.0' })
    const triggered = trigger(server, free.name)
    free.says(await free.offered({ firmware: '1.2.0' }), 'NOT_OK')
    expect(await triggered).toEqual({ status: 'DEVICE_NOT_OK' })
    expect((await toldOf(server, events, free.name))[0]).toBe('0 CHECKING')
    expect(await toldOf(server, events, refuser.name)).toEqual([])
    expect(await toldOf(server, events, pinned.name)).toEqual(['0 OFFERING 1.1.0'])
  })
})

describe('AUTO_UPDATE with seconds, and DISABLE_CONNECT_UPDATE', () => {
  beforeAll(async () => {
    server = await StartedServer.start({ DISABLE_CONNECT_UPDATE: 'on', AUTO_UPDATE: '* * * * * *' })
  })
  afterAll(async () => {
    cutAll()
    await server.finish()
  })

  test('every device that accepts is offered what there is, soon', async () => {
    expect(server.run.output).not.toContain('DISABLE_CONNECT_UPDATE is on')
    await release(server, 'boiler/1.1.0')
    const refuser = await linked('CRON-0', { autoUpdate: false })
    const one = await linked('CRON-A', {})
    await one.offered({ firmware: '1.1.0' })
    const other = await linked('CRON-B', { project: 'another' })
    await release(server, 'another/3.0.0')
    await other.offered({ firmware: '3.0.0' })
    expect(refuser.offers).toEqual([])
  })
})
