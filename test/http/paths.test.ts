import { describe, expect, test } from 'vitest'
import { pathTable } from '#http/request-head'

const templates: readonly [string, string][] = [
  ['GET', '/'],
  ['GET', '/devices'],
  ['POST', '/devices'],
  ['GET', '/devices/:deviceIdentifier'],
  ['DELETE', '/devices/:deviceIdentifier'],
  ['GET', '/devices/:device/services/:service'],
  ['GET', '/updates/:deviceIdentifier'],
  ['POST', '/updates/:deviceIdentifier'],
  ['GET', '/updates/projects'],
  ['GET', '/updates/:deviceIdentifier/log'],
  ['PUT', '/updates/projects/:project/releases/:firmware'],
]
const table = pathTable(templates.map(([method, template]) => ({ method, template, binding: `${method} ${template}` })))
const reversed = pathTable(
  [...templates].reverse().map(([method, template]) => ({ method, template, binding: `${method} ${template}` })),
)

describe('match', () => {
  test.each<[string, string, string, Record<string, string>]>([
    ['GET', '/', 'GET /', {}],
    ['GET', '/devices', 'GET /devices', {}],
    ['HEAD', '/devices', 'GET /devices', {}],
    ['DELETE', '/devices/a', 'DELETE /devices/:deviceIdentifier', { deviceIdentifier: 'a' }],
    ['GET', '/devices/a%20%C3%A4%2Fb', 'GET /devices/:deviceIdentifier', { deviceIdentifier: 'a ä/b' }],
    ['GET', '/devices/a+b', 'GET /devices/:deviceIdentifier', { deviceIdentifier: 'a+b' }],
    ['GET', '/devices/..', 'GET /devices/:deviceIdentifier', { deviceIdentifier: '..' }],
    ['GET', '/devices/__proto__', 'GET /devices/:deviceIdentifier', { deviceIdentifier: '__proto__' }],
    ['GET', '/devices/a/services/b', 'GET /devices/:device/services/:service', { device: 'a', service: 'b' }],
    ['GET', '/updates/projects', 'GET /updates/projects', {}],
    ['GET', '/updates/%70rojects', 'GET /updates/:deviceIdentifier', { deviceIdentifier: 'projects' }],
    ['GET', '/updates/projects/log', 'GET /updates/:deviceIdentifier/log', { deviceIdentifier: 'projects' }],
  ])('%s %s is %s', (method, path, binding, rawParameters) => {
    expect(table.match(method, path)).toMatchObject({ binding, rawParameters })
    expect(reversed.match(method, path)).toMatchObject({ binding, rawParameters })
  })

  test.each([
    '',
    '/unknown',
    '/devices/',
    '//',
    '/devices//services/b',
    '/devices/a/',
    '/devices/a/b',
    '/Devices',
    '/updates/projects/x/y',
    '/constructor',
    '/__proto__',
    '/devices/%',
    '/devices/%C3',
    '/devices/%ff/services/b',
  ])('%s is unknown', (path) => {
    expect(table.match('GET', path)).toBeUndefined()
    expect(table.match('BREW', path)).toBeUndefined()
  })

  test.each([
    ['PUT', '/devices', ['GET', 'HEAD', 'POST', 'OPTIONS']],
    ['get', '/devices', ['GET', 'HEAD', 'POST', 'OPTIONS']],
    ['OPTIONS', '/devices/a', ['GET', 'HEAD', 'DELETE', 'OPTIONS']],
    ['HEAD', '/updates/projects/a/releases/b', ['PUT', 'OPTIONS']],
    ['POST', '/updates/projects', ['GET', 'HEAD', 'OPTIONS']],
  ])('%s %s is not allowed', (method, path, allow) => {
    expect(table.match(method, path)).toEqual({ allow })
  })

  test('two routes for the same path throw', () => {
    const rows = ['/a/:b', '/a/:c'].map((template) => ({ method: 'GET', template, binding: 0 }))
    expect(() => pathTable(rows)).toThrow('two routes for GET /a/:c')
    expect(() => pathTable([{ method: 'GET', template: 'a', binding: 0 }])).toThrow('slash')
  })
})
