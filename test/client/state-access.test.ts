import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { alarmKey, type Client, type ConnectOptions, connect, type State } from '#client/client'
import { climate, noModifier, sensor, temperature } from '#test/blackbox/sensor'
import {
  basicHeader,
  type Credentials,
  grant,
  newName,
  report,
  root,
  SignedInUser,
  startWithIdentity,
} from '#test/blackbox/signed-in-user'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { fasterTime } from '#test/client/faster-time'
import { UnreliableProxy } from '#test/client/unreliable-proxy'

const permissions = { service: ['read'], meta: ['read'] }

/** The states of clients while the permissions of their users change. Contract 2, 4. */
describe('a state', () => {
  let server: StartedServer
  let proxy: UnreliableProxy
  let admin: SignedInUser
  let owner: Client
  const clients: Client[] = []

  beforeAll(async () => {
    server = await startWithIdentity()
    proxy = await UnreliableProxy.before(server.port)
    admin = await SignedInUser.signIn(server)
    owner = clientOf(root)
  })
  afterAll(async () => {
    for (const client of clients) client.close()
    await proxy?.close()
    await server?.finish()
  })

  function open(options: ConnectOptions): Client {
    const client = connect({ url: proxy.url, WebSocket, ...options })
    clients.push(client)
    return client
  }

  const clientOf = ({ name, password }: Credentials, options: ConnectOptions = {}) =>
    open({ ...options, credentials: { scheme: 'dpop', email: name, password } })

  /** Makes a new role, and the state of a client of a new user who has only this role. */
  async function stateWith(granted: object, options?: ConnectOptions) {
    const role = newName('role')
    await admin.putRole(role, granted)
    const state = clientOf(await admin.bring(newName('person'), [role]), options).state()
    await state.ready
    return { state, change: (other: object) => admin.putRole(role, other) }
  }

  const temperatureIn = (state: State, { name }: Credentials) =>
    state.device(name).value?.services.get(climate)?.valueAt(temperature)

  async function makeDevice(): Promise<Credentials> {
    const device = await admin.makeDevice(newName('RIGHTS').toUpperCase(), { meta: { hall: 3 } })
    await report(server, device, 20)
    return device
  }

  test('has what the roles of the user allow, and follows changes of these roles', async () => {
    const [one, other] = [await makeDevice(), await makeDevice()]
    // The client waits long after 4403.
    const { state, change } = await stateWith(grant(permissions, [one.name]), fasterTime(10))
    expect([...state.devices.keys()]).toEqual([one.name])
    expect(state.device(one.name.toLowerCase()).value).toMatchObject({ status: 'online', meta: { hall: 3 } })
    await change(grant(permissions, [other.name]))
    await until(() => state.devices.has(other.name) && !state.devices.has(one.name), 'the other device')
    await report(server, other, 25)
    await until(() => temperatureIn(state, other) === 25, 'a change of the other device')
    const property = state.device(other.name).value?.services.get(climate)?.get(temperature)
    expect(property).toMatchObject({ type: 'FLOAT', tag: 'value', value: 25 })
    // The role loses read on meta, and then all devices.
    await change(grant({ service: ['read'] }, [one.name]))
    await until(() => state.devices.has(one.name) && state.device(one.name).value?.status === undefined, 'no status')
    await change(grant({ schemas: ['read'] }))
    await until(() => state.devices.size === 0, 'no devices')
    await change(grant(permissions))
    await until(() => state.devices.has(one.name), 'devices again')
    // The user may receive no event, so the socket is closed with 4403.
    await change(grant({ users: ['read'] }))
    await until(() => state.devices.size === 0, 'no devices again')
    await change(grant(permissions))
    await until(() => state.devices.has(one.name) && state.devices.has(other.name), 'all devices')
  })

  test('has the values again when a permission returns, even without an event meanwhile', async () => {
    const device = await makeDevice()
    const { state, change } = await stateWith(grant(permissions, [device.name]))
    expect(temperatureIn(state, device)).toBe(20)
    await change(grant({ meta: ['read'] }, [device.name]))
    await until(() => temperatureIn(state, device) === undefined, 'no value')
    await change(grant(permissions, [device.name]))
    await until(() => temperatureIn(state, device) === 20, 'the value again')
  })

  test('drops a deleted device, even if the user may not read devices', async () => {
    const [one, other] = [await makeDevice(), await makeDevice()]
    const { state } = await stateWith(grant(permissions))
    const received: string[] = []
    state.events(({ type }) => received.push(type))
    await owner.call('DELETE /devices/:deviceIdentifier', { parameters: { deviceIdentifier: one.name } })
    await until(() => !state.devices.has(one.name), 'the device to be dropped')
    expect([received.includes('OBJECT_UPDATED'), received.includes('DEVICE_DELETE')]).toEqual([true, false])
    // A device that has other services now is kept.
    const services = [{ ...sensor[0], serviceIdentifier: 'other' }]
    const body = { deviceIdentifier: other.name, services, updates: [] }
    expect((await server.ask('/link', { method: 'POST', body, headers: basicHeader(other) })).status).toBe(204)
    const serviceNames = () => [...(state.device(other.name).value?.services.keys() ?? [])]
    await until(() => serviceNames().join() === 'other', 'its new service, for which there is no event')
  })

  test('drops a deleted device without services, although a user who may not read devices gets no event', async () => {
    const deviceIdentifier = newName('SILENT').toUpperCase()
    await owner.call('POST /devices', { body: { deviceIdentifier } })
    const others = [await makeDevice(), await makeDevice()]
    const requested: URL[] = []
    const fetch: typeof globalThis.fetch = (url, init) => {
      requested.push(new URL(String(url)))
      return globalThis.fetch(url, init)
    }
    const { state } = await stateWith(grant(permissions), { fetch, ...fasterTime(60) })
    const received: string[] = []
    state.events((event) => JSON.stringify(event).includes(deviceIdentifier) && received.push(event.type))
    expect(state.devices.has(deviceIdentifier)).toBe(true)
    await owner.call('DELETE /devices/:deviceIdentifier', { parameters: { deviceIdentifier } })
    await until(() => !state.devices.has(deviceIdentifier), 'the device to be dropped')
    expect(received).toEqual([])
    expect(others.every((other) => state.devices.has(other.name))).toBe(true)
    // The client does not request devices for which it gets events.
    const named = new Set(requested.flatMap(({ searchParams }) => searchParams.getAll('deviceIdentifier')))
    expect(others.some((other) => named.has(other.name))).toBe(false)
  })

  test('is empty after the session ends, and continues with the next session', async () => {
    const device = await makeDevice()
    const { name, password } = await admin.bring(newName('person'), ['viewer'])
    const client = open({})
    await client.signIn({ email: name, password })
    const state = client.state()
    await state.ready
    expect(temperatureIn(state, device)).toBe(20)
    await admin.delete(`/iam/users/${name}/sessions`)
    await until(() => state.connection.value.state === 'closed', 'the end')
    expect([client.session.value.state, state.devices.size]).toEqual(['signed out', 0])
    await client.signIn({ email: name, password })
    await until(() => state.connection.value.state === 'live', 'the state to be live again')
    expect(temperatureIn(state, device)).toBe(20)
    // Another user with fewer permissions signs in on the same page.
    const role = newName('role')
    await admin.putRole(role, grant({ service: ['read'] }, ['NONE']))
    const other = await admin.bring(newName('person'), [role])
    await client.signIn({ email: other.name, password: other.password })
    await until(
      () => state.connection.value.state === 'live' && state.devices.size === 0,
      'the state of the other user',
    )
  })

  test('is live only after all requested lists are read, even if some requests were refused', async () => {
    await makeDevice()
    const pending = new Set<() => void>()
    let refusals = 1
    const fetch: typeof globalThis.fetch = async (url, init) => {
      if (String(url).includes('/alarms/status')) await new Promise<void>((resolve) => pending.add(resolve))
      // This is the answer of a proxy while the server restarts.
      if (String(url).includes('/devices') && refusals-- > 0) return new Response('no such upstream', { status: 404 })
      return globalThis.fetch(url, init)
    }
    const state = clientOf(root, { fetch }).state()
    const problems: unknown[] = []
    state.connection.subscribe(() => problems.push(state.connection.value.problem))
    await state.ready
    expect(problems).toContainEqual(expect.objectContaining({ status: 404 }))
    expect(state.connection.value).toEqual({ state: 'live', since: expect.any(Number) })
    const { alarms } = state
    expect(state.connection.value.state).toBe('catching up')
    await until(() => pending.size > 0, 'the request')
    expect([state.connection.value.state, alarms.isComplete]).toEqual(['catching up', false])
    for (const release of pending) release()
    await until(() => state.connection.value.state === 'live', 'live')
    expect(alarms.isComplete).toBe(true)
  })

  test('has schemas, alarms, updates and subscriptions on request, also after lost connections', async () => {
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
    expect(alarms.get(key)).toMatchObject({ severity: 'warning', acknowledged: null })
    const alarmId = resourceIdentifier.replace('crn#alarm:', '')
    const body = { comment: 'seen' }
    const acknowledged = await owner.call('POST /alarms/:alarmId/status/:deviceIdentifier/acknowledge', {
      ...{ parameters: { alarmId, deviceIdentifier: device.name }, body },
    })
    await until(() => alarms.get(key)?.acknowledged, 'the acknowledgement')
    expect(alarms.get(key)).toEqual(acknowledged)
    proxy.cut()
    await report(server, device, 15)
    await until(() => alarms.get(key)?.active === false, 'the end of the alarm')
    expect(alarms.get(key)?.acknowledged).toMatchObject(body)
    const { resourceIdentifier: topic } = await owner.call('POST /functions', {
      body: {
        name: 'Warm',
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

  test('shows properties without a value of a device that is subscribed to', async () => {
    const state = owner.state()
    await state.ready
    const deviceIdentifier = newName('DECLARED').toUpperCase()
    const properties = () => state.device(deviceIdentifier).value?.services.get(climate)
    state.device(deviceIdentifier).subscribe(() => {})
    const { secret } = await owner.call('POST /devices', { body: { deviceIdentifier } })
    const headers = basicHeader({ name: deviceIdentifier, password: secret })
    const body = { deviceIdentifier, services: sensor, updates: [] }
    expect((await server.ask('/link', { method: 'POST', body, headers })).status).toBe(204)
    await until(() => properties()?.size === 3, 'the declared properties')
    expect(properties()?.get(temperature)).toEqual({
      propId: temperature,
      type: 'FLOAT',
      tag: 'value',
      modifier: noModifier,
    })
    state.close()
  })

  test('notifies the subscribers of a device once for many changes, and no others', async () => {
    const [one, other] = [await makeDevice(), await makeDevice()]
    const state = owner.state({ devices: [one.name, other.name], types: ['OBJECT_UPDATED', 'META_SET'] })
    await state.ready
    expect(state.devices.size).toBe(2)
    const notified: string[] = []
    const end = state.device(one.name).subscribe(() => notified.push('one'))
    state.device(other.name).subscribe(() => notified.push('other'))
    state.devices.subscribe((changed) => notified.push([...changed].join()))
    const events: string[] = []
    state.events(({ type }) => events.push(type))
    const before = state.devices.value
    await report(server, one, 21)
    await until(() => notified.length >= 2, 'the change')
    expect(notified).toEqual([one.name, 'one'])
    expect(state.devices.value).not.toBe(before)
    end()
    const parameters = { deviceIdentifier: other.name }
    await owner.call('PATCH /meta/:deviceIdentifier', { parameters, body: { hall: null } })
    await until(() => notified.length >= 4, 'the other change')
    expect(notified.slice(2)).toEqual([other.name, 'other'])
    expect(state.device(other.name).value?.meta).toEqual({})
    expect(events).toEqual(['OBJECT_UPDATED', 'META_SET'])
    state.close()
    expect(state.connection.value.state).toBe('closed')
  })
})
