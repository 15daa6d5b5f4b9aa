import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textOfEntry } from '#actors/tenant/state'
import type { Permission, RouteAccess, RouteEntry } from '#api/route-entry'
import { exampleDevice, exampleService } from '#api/state-shape'
import { type Action, actions, type Grant, type Resource, resources } from '#model/scope'
import { bindingsOf } from '#routes/bindings'
import { expectDocumented } from '#test/api/documented-answer'
import { prepareResources } from '#test/api/example-calls'
import { exampleBody, examplePath } from '#test/api/example-request'
import { AccessFixture, exampleSession, otherTenant, type UserName } from '#test/routes/access-fixture'

/**
 * Calls every route as in its example by six callers. The expected answers follow from the operation alone. A route that differs needs
 * its own row with the reason. Contract 1.4, 2.
 */

const callers = ['no caller', 'other tenant', 'without the right', 'other device', 'other service', 'right'] as const
type CallerName = (typeof callers)[number]

/** A status, or the status of the example. `empty` and `bare`: the same without content, or a device without services. */
type Outcome = number | 'success' | 'empty' | 'bare'
type Row = readonly [Outcome, Outcome, Outcome, Outcome, Outcome, Outcome]

const byWithin = {
  'service of device': [401, 404, 403, 404, 404, 'success'],
  device: [401, 404, 403, 404, 'success', 'success'],
  service: [401, 404, 403, 404, 404, 'success'],
  list: [401, 'empty', 403, 'empty', 'empty', 'success'],
} as const satisfies Record<string, Row>
const tenantNamed: Row = [401, 404, 403, 'success', 'success', 'success']
const tenantWhole: Row = [401, 'success', 403, 'success', 'success', 'success']
const withoutSignIn: Row = ['success', 'success', 'success', 'success', 'success', 'success']
const anySession: Row = [401, 'success', 'success', 'success', 'success', 'success']
const unproven: Row = [401, 401, 401, 401, 401, 401]
const unsigned: Row = [403, 403, 403, 403, 403, 403]
/** Bound devices, or devices without their services. */
const listOfDevices: Row = [401, 'empty', 403, 'empty', 'success', 'success']
const createdForDevices: Row = [401, 'success', 403, 404, 'success', 'success']
const anyDevice: Row = [401, 404, 403, 403, 'success', 'success']
const createdForAnyDevice: Row = [401, 'success', 403, 403, 'success', 'success']
/** Resources without a device. */
const listOfTenant: Row = [401, 'empty', 403, 'success', 'success', 'success']
const ofDefault: Row = [401, 403, 403, 'success', 'success', 'success']

const ownRows: readonly (readonly [why: string, row: Row, names: string])[] = [
  [
    'the code, the password or the refresh token in the request is the credential',
    unproven,
    'signUp readToken refreshToken',
  ],
  ['the signature is the credential', unsigned, 'readUnsubscribe unsubscribeByLink readImage'],
  ['a Basic session has no key to prove', anySession, 'logOut'],
  // Schemas belong to services, so grants on devices do not limit them.
  ['no device in it', [401, 404, 403, 'success', 404, 'success'], 'readSchema deleteSchema'],
  ['no device in it', [401, 'empty', 403, 'success', 'empty', 'success'], 'listSchemas'],
  ['no device in it; another tenant makes its own', [401, 'success', 403, 'success', 404, 'success'], 'putSchema'],
  ['another tenant makes its own', tenantWhole, 'putRole'],
  ['same name or id in both tenants', tenantWhole, 'readRole deleteRole deleteApiKey'],
  // Contract 3.1: grants on services do not limit devices.
  ['services narrow services', [401, 'empty', 403, 'empty', 'bare', 'success'], 'listDevices'],
  ['services narrow services', listOfDevices, 'listUpdates listMeta'],
  ['created outside the scope: answered as if not allowed', createdForDevices, 'createDevice'],
  // Callers see a binding if they reach all its devices; grants on services do not limit it. The services of functions
  // are checked at creation.
  ['its devices', listOfDevices, 'listGroups listAlarms listFunctions'],
  ['its devices, which need not exist', createdForDevices, 'createGroup createAlarm createFunction'],
  ['its devices', byWithin.device, 'readGroup updateGroup deleteGroup readAlarm putAlarm deleteAlarm'],
  ['its devices', byWithin.device, 'readFunction updateFunction deleteFunction testFunction listDeliveries'],
  ['its device', listOfDevices, 'listAlarmHistory listAlarmStatus'],
  // An action shows its devices; it contains no devices that the caller may not change.
  ['its devices and their service', byWithin['service of device'], 'readAction exportHistory'],
  ['leaves out what it may not show', tenantWhole, 'queryHistory'],
  ['counts rows that it may not store', tenantWhole, 'importHistory'],
  // Templates belong to no device and apply to all. Projects show no devices; releases, and rollouts without groups,
  // apply to all devices.
  ['no device in it', listOfTenant, 'listTemplates listProjects'],
  ['another tenant makes its own; any device', createdForAnyDevice, 'putTemplate putRelease putRollout'],
  ['any device', anyDevice, 'deleteTemplate deleteRelease deleteRollout pauseRollout resumeRollout'],
  ['its devices; no such project in the other tenant', [401, 404, 403, 'empty', 'success', 'success'], 'listPins'],
  ['another tenant makes its own', createdForDevices, 'putPin'],
  // The caller's own subscriptions; access to their functions is checked at creation.
  ['their own', listOfTenant, 'listSubscriptions'],
  ['the body has the topic', [401, 400, 403, 'success', 'success', 'success'], 'subscribe'],
  ['the admin role itself, which the other tenant also has', [401, 'success', 403, 403, 403, 403], 'readOutbox'],
  // A holder could become any user, so they need every permission, including future ones.
  ['everything of every tenant', [401, 403, 403, 403, 403, 403], 'readBackup'],
  // A provisioning key may register any device. Both tenants have one with the same id.
  ['any device', [401, 'success', 403, 'empty', 'success', 'success'], 'listProvisioningKeys'],
  ['any device', createdForAnyDevice, 'createProvisioningKey deleteProvisioningKey'],
  ['only tenant default manages tenants', ofDefault, 'listTenants createTenant readTenant updateTenant deleteTenant'],
  ['only tenant default', ofDefault, 'listSigningKeys rotateSigningKey handOver compactHistory'],
]
const ownRowOf = new Map(ownRows.flatMap(([, row, names]) => names.split(' ').map((name) => [name, row] as const)))

/** A caller that gives, edits or ends rights needs those rights too; bindings to devices need read access to them. */
const covering =
  /^(createUser|updateUser|deleteUser|renewUserCode|endUserSessions?|putRole|deleteRole|createApiKey|deleteApiKey|(create|update)(Group|Function)|(create|put)Alarm|subscribe)$/

/** Fields in an answer to `update` for a caller without `read`: identifiers, fields of the request, or results. */
const shownUnread: Readonly<Record<string, readonly string[]>> = {
  patchMeta: ['deviceIdentifier'],
  putRole: ['builtIn', 'grants', 'name', 'resourceIdentifier'],
  putSchema: ['schema', 'serviceIdentifier'],
  putPin: ['firmware'],
  // Contract 6.
  putRelease: ['firmware', 'hardware', 'index', 'sha256', 'size', 'createdAt', 'createdBy'],
  ...Object.fromEntries(['putRollout', 'pauseRollout', 'resumeRollout'].map((name) => [name, ['state']])),
  renewUserCode: ['code', 'expiresAt', 'name', 'resourceIdentifier'],
  rotateDeviceSecret: ['deviceIdentifier', 'secret'],
  setDeviceToken: ['deviceIdentifier', 'token'],
  rotateSigningKey: ['createdAt', 'kid'],
  importHistory: ['rows', 'stored', 'rejected', 'details'],
  ...Object.fromEntries(['writeDeviceProperties', 'writeServiceProperties'].map((name) => [name, ['updates']])),
  createAction: ['id'],
  triggerUpdate: ['status', 'message'],
}

/** §7. */
const emptyWhereUnknown = /^(updateSubscription|unsubscribe)$/

const byAccess: Readonly<Record<Exclude<RouteAccess, Permission>, Row>> = {
  none: withoutSignIn,
  session: anySession,
  user: anySession,
  proof: unproven,
  'user or proof': unproven,
  link: unproven,
  hook: tenantWhole,
}

function rowOf({ name, access, path }: RouteEntry): Row {
  const own = ownRowOf.get(name)
  if (own) return own
  if (typeof access === 'string') return byAccess[access]
  if (access.within === 'tenant') return path.includes(':') ? tenantNamed : tenantWhole
  return byWithin[access.within]
}

function permissionOf({ access }: RouteEntry): Permission | undefined {
  if (access === 'hook') return { resource: 'updates', action: 'update', within: 'tenant' }
  return typeof access === 'object' ? access : undefined
}

const give = (
  of: readonly Resource[],
  given: readonly Action[],
  [devices, services]: readonly [string, string] = ['*', '*'],
): Grant => ({
  permissions: Object.fromEntries(of.map((resource) => [resource, [...given]])),
  devices: [devices],
  services: [services],
})

/** All rights on all resources but these. */
const rightsExcept = (...excluded: readonly Resource[]): Grant =>
  give(
    resources.filter((one) => !excluded.includes(one)),
    actions,
  )

/** The grants with which a user of tenant `default` is this caller. */
function grantsOf(entry: RouteEntry, caller: CallerName): readonly Grant[] {
  const permission = permissionOf(entry)
  if (!permission || caller === 'no caller' || caller === 'other tenant') return []
  const { resource, action, mayCreate } = permission
  const rest = rightsExcept(resource)
  if (caller === 'without the right') return [rest]
  const where: Readonly<Record<string, [string, string]>> = {
    'other device': ['ELSEWHERE-1', '*'],
    'other service': ['*', 'elsewhere'],
    right: ['*', '*'],
  }
  const exact = give([resource], mayCreate ? [action, 'create'] : [action], where[caller])
  return covering.test(entry.name) ? [exact, rest] : [exact]
}

const fixture = await AccessFixture.open()
afterAll(() => fixture.close())

/** Bindings with sign-in enabled; the test calls nothing, so they have no state. */
const entries = bindingsOf({} as never, {} as never, {} as never).map(({ entry }) => entry)

/** Whether an earlier call may have changed anything. */
let isChanged = true

async function prepare(entry: RouteEntry, grants: readonly Grant[]): Promise<void> {
  if (isChanged) await fixture.restore(grants)
  else await fixture.restoreGrants(grants)
  isChanged = true
  await prepareResources(fixture, entry)
}

async function pathOf(
  entry: RouteEntry,
  user: UserName,
  parameters: Readonly<Record<string, string>> = {},
  query?: string,
): Promise<string> {
  // Each caller has sessions of its own.
  const own = entry.name === 'endSession' ? { id: await fixture.secondSession(user) } : parameters
  return examplePath(entry, own, query)
}

/** Reads, also those with a body, and the reports of devices are not audited. Contract 12, Audit. */
const unaudited = /^(queryHistory|testFunction|postLink)$/
/** Routes whose credential is in the request itself, so that the caller does not matter. */
const anonymously = /^(signUp|readToken|refreshToken|unsubscribeByLink)$/

function expectAudited(
  entry: RouteEntry,
  caller: CallerName,
  [own = [], others = []]: readonly string[][],
  { path, ...request }: { readonly method: string; readonly path: string; readonly status: number },
): void {
  const isChange = (entry.method !== 'GET' && !unaudited.test(entry.name)) || entry.name === 'readToken'
  const found = [...own, ...others].map((text) => JSON.parse(textOfEntry(text)))
  const isKnown = caller !== 'no caller' && entry.access !== 'proof' && !anonymously.test(entry.name)
  const name = !isKnown ? 'anonymous' : caller === 'other tenant' ? 'olaf' : 'eve'
  const row = { ...request, name, path: `/api/v1${path.replace(/\?.*/, '')}`, address: '127.0.0.1' }
  expect(found).toEqual(isChange ? [expect.objectContaining(row)] : [])
  if (name === 'olaf') expect(own).toEqual([])
}

describe.each(entries.map((entry) => [entry.name, entry] as const))('%s', (_, entry) => {
  const row = rowOf(entry)
  const { method } = entry
  beforeAll(() => {
    isChanged = true
  })

  test.each(callers.map((caller, index) => [caller, row[index] as Outcome] as const))(
    '%s: %s',
    async (caller, outcome) => {
      await prepare(entry, grantsOf(entry, caller))
      const before = fixture.storedText('default')
      const user = caller === 'other tenant' ? 'olaf' : 'eve'
      const path = await pathOf(entry, user)
      const audited = (await fixture.audit()).map(([newest]) => newest)
      const answer = await fixture.call(caller === 'no caller' ? undefined : user, method, path, exampleBody(entry))
      expect(answer.status).toBe(typeof outcome === 'number' ? outcome : entry.example.status)
      expectAudited(entry, caller, await fixture.audit(audited), { method, path, status: answer.status })
      isChanged = method !== 'GET' && answer.status < 400
      expectDocumented(entry, answer)
      if (answer.status >= 400) {
        expect(answer.text).not.toContain(exampleDevice)
        expect(fixture.storedText('default')).toBe(before)
      }
      if (answer.status === 403) expect(answer.text).toBe('')
      if (answer.status === 404)
        expect(answer.text).toBe(emptyWhereUnknown.test(entry.name) ? '' : '{"error":"Not Found"}')
      if (answer.status === 401) expect(answer.headers.get('www-authenticate')).not.toBeNull()
      if (outcome === 'empty') expect(JSON.parse(answer.text)).toEqual([])
      if (outcome === 'bare')
        expect(JSON.parse(answer.text)).toEqual([{ deviceIdentifier: exampleDevice, services: [] }])
      const isProof = entry.access === 'proof' || entry.access === 'user or proof'
      if (isProof && answer.status === 401) {
        expect([JSON.parse(answer.text).error, answer.headers.get('dpop-nonce')]).toEqual([
          'missing proof',
          expect.stringMatching(/^[\w-]{22}$/),
        ])
      }
      if (caller === 'other tenant') {
        // The caller's own tenant answers, without content of the example.
        expect(fixture.storedText('default')).toBe(before)
        if (answer.status < 300 && method === 'GET') expect(answer.text).not.toMatch(/SENSOR-1|"ann"/)
      }
      const isUnread = caller === 'right' && permissionOf(entry)?.action === 'update'
      // Callers see only their own subscriptions.
      if (isUnread && answer.text !== '' && answer.status < 300 && permissionOf(entry)?.resource !== 'notifications') {
        const shown = shownUnread[entry.name] ?? ['resourceIdentifier']
        expect(Object.keys(JSON.parse(answer.text)).filter((field) => !shown.includes(field))).toEqual([])
      }
      if (caller === 'other service' && typeof outcome !== 'number') {
        // An alarm or function shows its services to callers that reach its devices.
        const isNarrowed = permissionOf(entry)?.within !== 'tenant' && !/^list(Alarms|Functions)$/.test(entry.name)
        expect(answer.text).not.toContain(method === 'GET' && isNarrowed ? exampleService : '\0')
      }
    },
  )
})

/** A call that creates a resource needs `create`, one that changes a resource needs `update`. */
const putting = entries.filter((entry) => permissionOf(entry)?.mayCreate)

test('some operations create resources and others change them', () => {
  const names = putting.map(({ name }) => name).sort()
  expect(names.join(' ')).toBe('putPin putRelease putRole putRollout putSchema putTemplate')
})

test.each(putting.map((entry) => [entry.name, entry] as const))(
  '%s needs the right for its effect',
  async (_, entry) => {
    const { resource } = permissionOf(entry) as Permission
    const rest = rightsExcept(resource)
    const allow = (...given: Action[]) => fixture.allow([give([resource], given), rest])
    const send = async (method = entry.method) =>
      (
        await fixture.call(
          'eve',
          method,
          await pathOf(entry, 'eve'),
          method === 'DELETE' ? undefined : exampleBody(entry),
        )
      ).status
    await prepare(entry, [give(resources, actions)])
    expect(await send()).toBeLessThan(300)
    await allow('create')
    expect(await send()).toBe(403)
    await allow('update')
    expect(await send()).toBeLessThan(300)
    await allow('delete')
    expect(await send('DELETE')).toBe(204)
    await allow('update')
    expect(await send()).toBe(403)
    await allow('create')
    expect(await send()).toBeLessThan(300)
  },
)

/** Only callers that manage tenants see connections of other tenants. Contract 8. */
test.each<[string, UserName, readonly Grant[], number]>([
  ['another tenant', 'olaf', [], 0],
  ['the own tenant', 'eve', [give(['health'], ['read'])], 1],
  ['a caller that manages tenants', 'eve', [give(['health', 'tenants'], ['read'])], 1],
])('/health/status counts the connections of %s', async (_, user, grants, links) => {
  await fixture.restore(grants)
  await fixture.link()
  const { status, text } = await fixture.call(user, 'GET', '/health/status')
  expect([status, JSON.parse(text).links]).toEqual([200, links])
})

test('every row belongs to an existing route', () => {
  expect([...ownRowOf.keys()].filter((name) => !entries.some((entry) => entry.name === name))).toEqual([])
})

/** Contract 2, Model: holders of `tenants` in `default` can name another tenant; other callers may not name even their own. */
const ofTenants = entries.filter(({ query }) => {
  const takes = (tenant: string) => query?.safeParse({ tenant }).success
  return takes(otherTenant) && !takes('!')
})

describe.each(ofTenants.map((entry) => [entry.name, entry] as const))('%s of another tenant', (_, entry) => {
  const { method, example } = entry
  const { resource, action, mayCreate } = permissionOf(entry) as Permission
  const right = give([resource], mayCreate ? [action, 'create'] : [action])
  const rest = rightsExcept(resource, 'tenants')
  const otherAction = actions.filter((one) => one !== action && !(mayCreate && one === 'create'))

  const send = async (user: UserName, grants: readonly Grant[], tenant: string) => {
    await prepare(entry, grants)
    const name = example.parameters?.name
    const more = name === undefined || tenant === 'default' ? undefined : { name: 'ona' }
    const before = fixture.storedText('default')
    const path = await pathOf(entry, user, more, `tenant=${tenant}`)
    const answer = await fixture.call(user, method, path, example.body)
    expect(fixture.storedText('default')).toBe(before)
    return answer
  }

  test('some operations accept a tenant', () => {
    expect(ofTenants.length).toBeGreaterThan(15)
  })

  test.each<[string, UserName, readonly Grant[], string]>([
    ['without tenants, the own one', 'eve', [right, rest], 'default'],
    ['with another action on tenants', 'eve', [right, rest, give(['tenants'], otherAction)], otherTenant],
    ['from another tenant', 'olaf', [], 'default'],
    ['an unknown one, without tenants', 'eve', [right, rest], 'nowhere'],
  ])('%s: 403', async (_, user, grants, tenant) => {
    const answer = await send(user, grants, tenant)
    expect([answer.status, answer.text]).toEqual([403, ''])
  })

  const tenants = give(['tenants'], mayCreate ? [action, 'create'] : [action])

  test('the call acts in that tenant with the right on tenants', async () => {
    const answer = await send('eve', [right, rest, tenants], otherTenant)
    expect(answer.status).toBe(example.status)
    if (method === 'GET') expect(answer.text).not.toMatch(/SENSOR-1|"ann"/)
  })

  test('an unknown tenant is 404', async () => {
    const answer = await send('eve', [right, rest, tenants], 'nowhere')
    expect([answer.status, JSON.parse(answer.text)]).toEqual([404, { error: 'Not Found' }])
  })

  test('an invalid tenant is 400', async () => {
    const answer = await send('eve', [right, rest, tenants], 'Other')
    expect([answer.status, JSON.parse(answer.text).details[0].path]).toEqual([400, 'tenant'])
  })
})

test('the session in the examples belongs to another user', () => {
  expect(entries.filter(({ example }) => example.parameters?.id === exampleSession)).not.toEqual([])
})
