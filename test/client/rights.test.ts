import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { alarmKey, type Client, connect } from '#client/client'
import { basicHeader, grant, newName, Person, report, root, startWithIdentity } from '#test/blackbox/people'
import { climate, noModifier, sensor, temperature } from '#test/blackbox/sensor'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { fasterTime } from '#test/client/faster-time'
import { ShakyProxy } from '#test/client/shaky-proxy'

/** What a state shows to whom, and what becomes of it when that changes. Contract 2, 4. */
describe('a state of somebody', () => {
  let server: StartedServer
  let proxy: ShakyProxy
  let admin: Person
  let owner: Client
  const clients: Client[] = []

  beforeAll(async () => {
    server = await startWithIdentity()
    proxy = await ShakyProxy.before(server.port)
    admin = await Person.signIn(server)
    owner = clientOf(root)
  })
  afterAll(async () => {
    for (const client of clients) client.close()
    await proxy?.close()
    await server?.finish()
  })

  function clientOf({ name, password }: { name: string; password: string }, fetch = globalThis.fetch): Client {
    const client = connect({
      url: proxy.url,
      fetch,
      WebSocket,
      credentials: { scheme: 'dpop', email: name, password },
    })
    clients.push(client)
    return client
  }

  async function makeDevice(): Promise<{ name: string; password: string }> {
    const deviceIdentifier = newName('RIGHTS').toUpperCase()
    const { secret } = await owner.call('POST /devices', { body: { deviceIdentifier, meta: { hall: 3 } } })
    const device = { name: deviceIdentifier, password: secret }
    await report(server, device, 20)
    return device
  }

  test('shows what its roles reach, and follows when they are changed', async () => {
    const [one, other] = [await makeDevice(), await makeDevice()]
    const role = newName('role')
    const all = { service: ['read'], meta: ['read'] }
    await admin.putRole(role, grant(all, [one.name]))
    const client = clientOf(await admin.bring(newName('person'), [role]))
    const state = client.state()
    await state.ready
    expect([...state.devices.keys()]).toEqual([one.name])
    expect(state.device(one.name.toLowerCase()).value).toMatchObject({ status: 'online', meta: { hall: 3 } })
    await admin.putRole(role, grant(all, [other.name]))
    await until(() => state.devices.has(other.name) && !state.devices.has(one.name), 'the other device')
    await report(server, other, 25)
    const service = () => state.device(other.name).value?.services.get(climate)
    await until(() => service()?.valueAt(temperature) === 25, 'a change of the other device')
    expect(service()?.get(temperature)).toMatchObject({ type: 'FLOAT', tag: 'value', value: 25 })
    // Without meta, and without anything at all.
    await admin.putRole(role, grant({ service: ['read'] }, [one.name]))
    await until(() => state.devices.has(one.name) && state.device(one.name).value?.status === undefined, 'no status')
    await admin.putRole(role, grant({ schemas: ['read'] }))
    await until(() => state.devices.size === 0, 'nothing')
    await admin.putRole(role, grant(all))
    await until(() => state.devices.has(one.name), 'devices again')
    // No event at all may be heard: the socket is closed with 4403.
    await admin.putRole(role, grant({ users: ['read'] }))
    await until(() => state.devices.size === 0, 'nothing again')
    await admin.putRole(role, grant(all))
    await until(() => state.devices.has(one.name) && state.devices.has(other.name), 'all devices', 60_000)
  })

  test('has the values again that it had, when a right comes back and nothing was told meanwhile', async () => {
    const device = await makeDevice()
    const role = newName('role')
    const all = { service: ['read'], meta: ['read'] }
    await admin.putRole(role, grant(all, [device.name]))
    const state = clientOf(await admin.bring(newName('person'), [role])).state()
    await state.ready
    const value = () => state.device(device.name).value?.services.get(climate)?.valueAt(temperature)
    expect(value()).toBe(20)
    await admin.putRole(role, grant({ meta: ['read'] }, [device.name]))
    await until(() => value() === undefined, 'no value')
    await admin.putRole(role, grant(all, [device.name]))
    await until(() => value() === 20, 'the value again')
  })

  test('lets go of a device that is removed, also of who hears nothing of devices', async () => {
    const [one, other] = [await makeDevice(), await makeDevice()]
    const role = newName('role')
    await admin.putRole(role, grant({ service: ['read'], meta: ['read'] }))
    const state = clientOf(await admin.bring(newName('person'), [role])).state()
    await state.ready
    const heard: string[] = []
    state.events(({ type }) => heard.push(type))
    await owner.call('DELETE /devices/:deviceIdentifier', { parameters: { deviceIdentifier: one.name } })
    await until(() => !state.devices.has(one.name), 'the device to go')
    expect([heard.includes('OBJECT_UPDATED'), heard.includes('DEVICE_DELETE')]).toEqual([true, false])
    // One that only offers something else now is looked at, and stays.
    const services = [{ ...sensor[0], serviceIdentifier: 'other' }]
    const body = { deviceIdentifier: other.name, services, updates: [] }
    expect((await server.ask('/link', { method: 'POST', body, headers: basicHeader(other) })).status).toBe(204)
    const seen = () => [...(state.device(other.name).value?.services.keys() ?? [])]
    await until(() => seen().join() === 'other', 'what it offers now, of which no event tells')
  })

  test('lets go of a removed device without services, of which who hears nothing of devices hears nothing', async () => {
    const deviceIdentifier = newName('SILENT').toUpperCase()
    await owner.call('POST /devices', { body: { deviceIdentifier } })
    const others = [await makeDevice(), await makeDevice()]
    const role = newName('role')
    await admin.putRole(role, grant({ service: ['read'], meta: ['read'] }))
    const { name, password } = await admin.bring(newName('person'), [role])
    const asked: URL[] = []
    const fetch: typeof globalThis.fetch = (url, init) => {
      asked.push(new URL(String(url)))
      return globalThis.fetch(url, init)
    }
    const credentials = { scheme: 'dpop', email: name, password } as const
    const client = connect({ url: proxy.url, WebSocket, fetch, ...fasterTime(60), credentials })
    clients.push(client)
    const state = client.state()
    await state.ready
    const heard: string[] = []
    state.events((event) => JSON.stringify(event).includes(deviceIdentifier) && heard.push(event.type))
    expect(state.devices.has(deviceIdentifier)).toBe(true)
    await owner.call('DELETE /devices/:deviceIdentifier', { parameters: { deviceIdentifier } })
    await until(() => !state.devices.has(deviceIdentifier), 'the device to go')
    expect(heard).toEqual([])
    expect(others.every((other) => state.devices.has(other.name))).toBe(true)
    // None of those that would be heard of was asked after.
    const named = new Set(asked.flatMap(({ searchParams }) => searchParams.getAll('deviceIdentifier')))
    expect(others.some((other) => named.has(other.name))).toBe(false)
  })

  test('ends with its session, shows nothing any more, and begins again with the next', async () => {
    const device = await makeDevice()
    const { name, password } = await admin.bring(newName('person'), ['viewer'])
    const client = connect({ url: proxy.url, WebSocket })
    clients.push(client)
    await client.signIn({ email: name, password })
    const state = client.state()
    await state.ready
    const value = () => state.device(device.name).value?.services.get(climate)?.valueAt(temperature)
    expect(value()).toBe(20)
    await admin.delete(`/iam/users/${name}/sessions`)
    await until(() => state.connection.value.state === 'closed', 'the end')
    expect([client.session.value.state, state.devices.size]).toEqual(['signed out', 0])
    await client.signIn({ email: name, password })
    await until(() => state.connection.value.state === 'live', 'the state to be live again')
    expect(value()).toBe(20)
    // Somebody else at the same page, who may see less.
    const role = newName('role')
    await admin.putRole(role, grant({ service: ['read'] }, ['NONE']))
    const other = await admin.bring(newName('person'), [role])
    await client.signIn({ email: other.name, password: other.password })
    await until(() => state.connection.value.state === 'live' && state.devices.size === 0, 'the other one’s state')
  })

  test('is live only when all that was asked for is read, however often that is refused on the way', async () => {
    await makeDevice()
    const held = new Set<() => void>()
    let refusals = 1
    const fetch: typeof globalThis.fetch = async (url, init) => {
      if (String(url).includes('/alarms/status')) await new Promise<void>((resolve) => held.add(resolve))
      // As a proxy does while what stands behind it is put up anew.
      if (String(url).includes('/devices') && refusals-- > 0) return new Response('no such upstream', { status: 404 })
      return globalThis.fetch(url, init)
    }
    const client = clientOf(root, fetch)
    const state = client.state()
    const told: unknown[] = []
    state.connection.subscribe(() => told.push(state.connection.value.problem))
    await state.ready
    expect(told).toContainEqual(expect.objectContaining({ status: 404 }))
    expect(state.connection.value).toEqual({ state: 'live', since: expect.any(Number) })
    const { alarms } = state
    expect(state.connection.value.state).toBe('catching up')
    await until(() => held.size > 0, 'the question')
    expect([state.connection.value.state, alarms.isComplete]).toEqual(['catching up', false])
    for (const release of held) release()
    await until(() => state.connection.value.state === 'live', 'live')
    expect(alarms.isComplete).toBe(true)
  })

  test('has schemas, alarms, firmware and subscriptions when they are asked for, over breaks too', async () => {
    const device = await makeDevice()
    const state = owner.state()
    await state.ready
    expect(state.schemas.isComplete).toBe(false)
    const { schemas, alarms, subscriptions, updates } = state
    await until(() => [schemas, alarms, subscriptions, updates].every((map) => map.isComplete), 'all lists')
    const schema = { name: 'Climate', properties: { '0x2000': { name: 'temperature', type: 'float' } } }
    const parameters = { serviceIdentifier: climate }
    await owner.call('PUT /schemas/:serviceIdentifier', { parameters, body: schema })
    await until(() => schemas.get(climate)?.name === 'Climate', 'the schema')
    const { resourceIdentifier } = await owner.call('POST /alarms', {
      body: {
        name: 'Hot',
        severity: 'warning',
        serviceIdentifier: climate,
        condition: { '>': [{ var: 'temperature' }, 30] },
      },
    })
    const key = alarmKey(resourceIdentifier, device.name)
    proxy.cut()
    await report(server, device, 35)
    await until(() => alarms.get(key)?.active === true, 'the alarm')
    proxy.cut()
    await report(server, device, 15)
    await until(() => alarms.get(key)?.active === false, 'the end of the alarm')
    const { resourceIdentifier: topic } = await owner.call('POST /functions', {
      body: {
        name: 'Told',
        enabled: true,
        binding: { devices: [device.name] },
        graph: {
          nodes: [{ id: 'a', type: 'trigger', on: 'property', serviceIdentifier: climate, propId: temperature }],
          edges: [],
        },
      },
    })
    const made = await owner.call('POST /notifications/subscribe', { body: { topic, type: 'email', locale: 'en' } })
    await until(() => subscriptions.get(made.resourceIdentifier)?.topic === topic, 'the subscription')
    await owner.call('DELETE /functions/:functionId', {
      parameters: { functionId: topic.replace('crn#function:', '') },
    })
    await until(() => subscriptions.size === 0, 'the end of the subscription')
    await owner.call('DELETE /schemas/:serviceIdentifier', { parameters })
    await until(() => schemas.size === 0, 'the end of the schema')
    await owner.call('DELETE /devices/:deviceIdentifier', { parameters: { deviceIdentifier: device.name } })
    await until(() => !alarms.has(key) && !state.devices.has(device.name), 'the end of the device')
  })

  test('shows of a device that is looked at also what has no value yet', async () => {
    const state = owner.state()
    await state.ready
    const deviceIdentifier = newName('DECLARED').toUpperCase()
    const properties = () => state.device(deviceIdentifier).value?.services.get(climate)
    state.device(deviceIdentifier).subscribe(() => {})
    const { secret } = await owner.call('POST /devices', { body: { deviceIdentifier } })
    const headers = basicHeader({ name: deviceIdentifier, password: secret })
    const body = { deviceIdentifier, services: sensor, updates: [] }
    expect((await server.ask('/link', { method: 'POST', body, headers })).status).toBe(204)
    await until(() => properties()?.size === 3, 'what it declared')
    expect(properties()?.get(temperature)).toEqual({
      propId: temperature,
      type: 'FLOAT',
      tag: 'value',
      modifier: noModifier,
    })
    state.close()
  })

  test('is told once for many changes, and only who watches that device', async () => {
    const [one, other] = [await makeDevice(), await makeDevice()]
    const state = owner.state({ devices: [one.name, other.name], types: ['OBJECT_UPDATED', 'META_SET'] })
    await state.ready
    expect(state.devices.size).toBe(2)
    const told: string[] = []
    const end = state.device(one.name).subscribe(() => told.push('one'))
    state.device(other.name).subscribe(() => told.push('other'))
    state.devices.subscribe((changed) => told.push([...changed].join()))
    const events: string[] = []
    state.events(({ type }) => events.push(type))
    const before = state.devices.value
    await report(server, one, 21)
    await until(() => told.length >= 2, 'the change')
    expect(told).toEqual([one.name, 'one'])
    expect(state.devices.value).not.toBe(before)
    end()
    const parameters = { deviceIdentifier: other.name }
    await owner.call('PATCH /meta/:deviceIdentifier', { parameters, body: { hall: null } })
    await until(() => told.length >= 4, 'the other change')
    expect(told.slice(2)).toEqual([other.name, 'other'])
    expect(state.device(other.name).value?.meta).toEqual({})
    expect(events).toEqual(['OBJECT_UPDATED', 'META_SET'])
    state.close()
    expect(state.connection.value.state).toBe('closed')
  })
})
