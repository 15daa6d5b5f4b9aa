import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callHook, hookSecret, imageOf, putImage, sha256Of } from '#test/blackbox/firmware-fleet'
import { basicHeader, grant, newName, Person, startWithIdentity, told } from '#test/blackbox/people'
import type { Environment, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { type DeviceManner, type Offer, UpdatingDevice } from '#test/blackbox/updating-device'

/** Who may do what about firmware, with people, tenants and credentials of devices. §1.6, contract 2, 6. */

let server: StartedServer
let admin: Person
const open: UpdatingDevice[] = []

beforeAll(async () => {
  server = await startWithIdentity({ UPDATE_HOOK_SECRET: hookSecret, DISABLE_CONNECT_UPDATE: 'on' })
  admin = await Person.signIn(server)
})
afterAll(async () => {
  for (const device of open) device.cut()
  await server?.finish()
})

/** A device that comes with a provisioning key. */
async function linked(name: string, manner: DeviceManner, headers: Environment): Promise<UpdatingDevice> {
  const device = await UpdatingDevice.linked(server, name, { ...manner, headers })
  open.push(device)
  return device
}

async function gatewayOf(who: Person, tenant = ''): Promise<Environment> {
  const { json } = await who.post('/iam/provisioning-keys', { name: newName('gateway') })
  return basicHeader({ name: `${tenant}*`, password: (json as { key: string }).key })
}

async function upload(who: Person, release: string, image: Uint8Array): Promise<number> {
  return (await putImage(server, release, image, { headers: who.headers })).status
}

/** A tenant of its own, with somebody who may do everything there. */
async function makeTenant(): Promise<{ readonly tenant: string; readonly owner: Person }> {
  const tenant = newName('firm')
  expect((await admin.post('/iam/tenants', { tenantIdentifier: tenant, name: 'Firm' })).status).toBe(201)
  const owner = await admin.bringIn(newName('owner'), ['admin'], {}, `?tenant=${tenant}`)
  return { tenant, owner }
}

const statusOf = async (url: string) => (await fetch(url)).status

test('each tenant has its own projects, devices and hooks; an image of one is read by its own address alone', async () => {
  const { tenant, owner } = await makeTenant()
  const image = imageOf('of both', 5_000)
  expect(await upload(admin, 'twins/1.1.0', image)).toBe(201)
  expect(told(await owner.get('/updates/projects'))).toEqual([200, []])
  expect((await owner.get('/updates/projects/twins/releases/1.1.0')).status).toBe(404)
  expect((await owner.delete('/updates/projects/twins/releases/1.1.0')).status).toBe(404)
  expect(await upload(owner, 'twins/1.1.0', image)).toBe(201)

  const manner = { project: 'twins' }
  const [ours, theirs] = [
    await linked('TWIN', manner, await gatewayOf(admin)),
    await linked('TWIN', manner, await gatewayOf(owner, `${tenant}/`)),
  ]
  // Signed for the one tenant, and for the other: each reaches its own.
  expect(await callHook(server, { project: 'twins', body: `{"tenant":"${tenant}"}` })).toBe(204)
  const offered = await theirs.offered()
  expect([offered.url.includes(`device=${tenant}%2FTWIN`), ours.offers]).toEqual([true, []])
  expect(await callHook(server, { project: 'twins' })).toBe(204)
  const offer = await ours.offered()
  expect(offer.url).toContain('device=TWIN&')
  for (const { url } of [offered, offer]) expect(await statusOf(url)).toBe(200)
  expect(await statusOf(offered.url.replace(`${tenant}%2F`, ''))).toBe(403)

  // The one release goes: the image stays for the other.
  theirs.says(offered, 'NOT_OK')
  await until(
    async () => (await owner.delete('/updates/projects/twins/releases/1.1.0')).status === 204,
    'to be out of use',
  )
  expect(await statusOf(offer.url)).toBe(200)
})

test('a tenant that is deleted in the middle of its updates: its devices, projects and images go', async () => {
  const { tenant, owner } = await makeTenant()
  const image = imageOf('of a tenant that goes', 5_000)
  expect(await upload(owner, 'going/1.1.0', image)).toBe(201)
  expect((await owner.put('/updates/projects/going/rollout', { firmware: '1.1.0', percent: 100 })).status).toBe(200)
  const device = await linked('GOING', { project: 'going' }, await gatewayOf(owner, `${tenant}/`))
  const triggered = owner.post('/updates/GOING')
  const offer = await device.offered()
  expect((await admin.delete(`/iam/tenants/${tenant}`)).status).toBe(204)
  expect([401, 404]).toContain((await triggered).status)
  expect((await device.client.closed()).code).toBeGreaterThan(4000)
  const file = join(server.dataFolder, 'images', sha256Of(image))
  await until(() => !existsSync(file), 'the image to go')
  expect(await statusOf(offer.url)).toBe(404)
  expect(await callHook(server, { project: 'going', body: `{"tenant":"${tenant}"}` })).toBe(204)
})

test('roles: what needs all devices, what needs one, and what is not even said to be there', async () => {
  expect(await upload(admin, 'rights/1.1.0', imageOf('rights'))).toBe(201)
  const gateway = await gatewayOf(admin)
  const manner = { project: 'rights' }
  const inReach = await linked('RIGHTS-A', manner, gateway)
  const outside = await linked('RIGHTS-B', manner, gateway)
  await admin.putRole('fitter', grant({ updates: ['read', 'create', 'update', 'delete'] }, ['RIGHTS-A']))
  await admin.putRole('watcher', grant({ updates: ['read'] }))
  const fitter = await admin.bringIn(newName('fitter'), ['fitter'])
  const watcher = await admin.bringIn(newName('watcher'), ['watcher'])
  const ask = async (who: Person, method: string, path: string, body?: unknown) =>
    (await who.ask(path, { method, ...(body !== undefined && { body }) })).status
  const project = '/updates/projects/rights'
  const pin = { firmware: '1.1.0' }
  const rollout = { firmware: '1.1.0', percent: 100 }
  expect([
    await ask(fitter, 'POST', '/updates/RIGHTS-B'),
    await ask(fitter, 'GET', '/updates/RIGHTS-B'),
    await ask(fitter, 'PUT', `${project}/pins/RIGHTS-B`, pin),
    await ask(fitter, 'PUT', `${project}/rollout`, rollout),
    await ask(fitter, 'DELETE', `${project}/releases/1.1.0`),
    await upload(fitter, 'rights/1.2.0', imageOf('more')),
    await ask(watcher, 'POST', '/updates/RIGHTS-A'),
    await ask(watcher, 'PUT', `${project}/pins/RIGHTS-A`, pin),
    await upload(watcher, 'rights/1.2.0', imageOf('more')),
    await ask(watcher, 'POST', '/updates/hook/rights'),
    await ask(watcher, 'GET', `${project}/releases`),
    await ask(fitter, 'PUT', `${project}/pins/RIGHTS-A`, pin),
  ]).toEqual([404, 404, 404, 403, 403, 403, 403, 403, 403, 403, 200, 200])
  // His hook reaches his devices.
  expect(await ask(fitter, 'POST', '/updates/hook/rights')).toBe(204)
  await inReach.offered({ firmware: '1.1.0' })
  expect(await ask(admin, 'POST', '/updates/hook/rights', { devices: ['RIGHTS-B'] })).toBe(204)
  await outside.offered({ firmware: '1.1.0' })
})

test('the signature of a hook: nothing of it may be another', async () => {
  for (const wrong of [{ secret: 'x' }, { off: -310 }, { off: 310 }])
    expect(await callHook(server, { project: 'signed', ...wrong })).toBe(401)
  for (const off of [-290, 0, 290]) expect(await callHook(server, { project: 'signed', off })).toBe(204)
  expect((await server.ask('/updates/hook/signed', { method: 'POST' })).status).toBe(401)
  // A header that is there is judged alone.
  const headers = { ...admin.headers, 'x-hook-signature': 't=1,sha256=00' }
  expect((await server.ask('/updates/hook/signed', { method: 'POST', headers })).status).toBe(401)
})

test('a rollout reaches whom its author reaches at that moment', async () => {
  expect(await upload(admin, 'authored/1.1.0', imageOf('authored'))).toBe(201)
  const gateway = await gatewayOf(admin)
  const devices: UpdatingDevice[] = []
  for (const name of ['AUTHOR-A', 'AUTHOR-B']) devices.push(await linked(name, { project: 'authored' }, gateway))
  const [first, last] = devices as [UpdatingDevice, UpdatingDevice]
  const all = grant({ updates: ['*'] })
  await admin.putRole('author', all)
  const author = await admin.bringIn(newName('author'), ['author'])
  const rollout = '/updates/projects/authored/rollout'
  const paused = { firmware: '1.1.0', percent: 0 }
  expect((await author.put(rollout, paused)).status).toBe(200)
  await author.post(`${rollout}/pause`)
  expect((await author.put(rollout, { ...paused, percent: 100 })).status).toBe(200)
  await author.post(`${rollout}/resume`)
  const offers: Offer[] = [await first.offered(), await last.offered()]
  for (const [index, device] of devices.entries()) device.says(offers[index] as Offer, 'NOT_OK')
  // A new one by the same author, whose role is narrowed before its release is there.
  expect((await author.put(rollout, { firmware: '1.2.0', percent: 100 })).status).toBe(200)
  await admin.putRole('author', grant({ updates: ['*'] }, ['AUTHOR-B']))
  expect(await upload(admin, 'authored/1.2.0', imageOf('authored 1.2.0'))).toBe(201)
  await last.offered({ firmware: '1.2.0' })
  expect(first.offers).toEqual([])
})
