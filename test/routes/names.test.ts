import { afterAll, describe, expect, test } from 'vitest'
import { alarmBody, pathOf } from '#test/blackbox/alarm-calls'
import { climate } from '#test/blackbox/sensor'
import { answerOf, grant, identityOn, SignedInUser } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'

const properties = (name: string) => ({ '0x2000': { name, type: 'float' } })

const server = await StartedServer.here(identityOn)
afterAll(() => server.finish())
const admin = await SignedInUser.signIn(server)
await admin.put(`/schemas/${climate}`, { name: 'Room climate', properties: properties('Temperature') })
await admin.put('/schemas/other', { name: 'Twin', properties: properties('Level') })
await admin.put('/schemas/another', { name: 'Twin', properties: properties('Level') })

describe('names in place of identifiers', () => {
  const made = async (path: string, body: unknown) => {
    const answer = await admin.post(path, body)
    expect(answerOf(answer)).toEqual([201, expect.anything()])
    return answer.json as never
  }
  const idOf = ({ resourceIdentifier }: { resourceIdentifier: string }) => resourceIdentifier.split(':')[1] ?? ''
  const detailsOf = (...details: readonly (readonly [path: string, message: string])[]) => [
    400,
    { error: 'Validation Error', details: details.map(([path, message]) => ({ path, message })) },
  ]

  test('are replaced by identifiers in alarms, functions and actions', async () => {
    const group = idOf(await made('/groups', { name: 'Hall 3', devices: ['A'] }))
    const alarm = idOf(await made('/alarms', alarmBody({ serviceIdentifier: 'Room climate', groups: ['Hall 3'] })))
    expect((await admin.get(`/alarms/${alarm}`)).json).toMatchObject({ serviceIdentifier: climate, groups: [group] })
    const nodes = [
      { id: 'heat', type: 'trigger', on: 'property', serviceIdentifier: 'Room climate', propId: 'Temperature' },
      { id: 'alarm', type: 'trigger', on: 'alarm', alarmId: 'Warm' },
    ]
    const graph = { nodes: [...nodes, { id: 'mail', type: 'email', template: 'hot' }], edges: [] }
    const edges = [
      ['heat', 'mail'],
      ['alarm', 'mail'],
    ]
    const fn = idOf(
      await made('/functions', { name: 'Heat', binding: { groups: ['Hall 3'] }, graph: { ...graph, edges } }),
    )
    expect((await admin.get(`/functions/${fn}`)).json).toMatchObject({
      binding: { groups: [group] },
      graph: { nodes: [{ serviceIdentifier: climate, propId: 0x2000 }, { alarmId: alarm }, {}] },
    })
    const action = await admin.post('/devices/actions', {
      groups: ['Hall 3'],
      serviceIdentifier: 'Room climate',
      updates: { Temperature: 1 },
    })
    expect(action.status).toBe(202)
  })

  test('that are unknown or ambiguous are refused by name; an identifier without a schema is not', async () => {
    const body = alarmBody({ serviceIdentifier: 'Room climat', groups: ['Hall 4'] })
    expect(answerOf(await admin.post('/alarms', body))).toEqual(
      detailsOf(
        ['serviceIdentifier', 'there is no service named "Room climat"'],
        ['groups.0', 'there is no group named "Hall 4"'],
      ),
    )
    expect(answerOf(await admin.post('/alarms', alarmBody({ serviceIdentifier: 'Twin' })))).toEqual(
      detailsOf([
        'serviceIdentifier',
        '"Twin" is the name of several services, such as other and another: give the identifier',
      ]),
    )
    const trigger = {
      id: 'heat',
      type: 'trigger',
      on: 'property',
      serviceIdentifier: 'Room climate',
      propId: 'Humidity',
    }
    const graph = { nodes: [trigger, { id: 'mail', type: 'email', template: 'hot' }], edges: [['heat', 'mail']] }
    expect(answerOf(await admin.post('/functions', { name: 'Heat', binding: {}, graph }))).toEqual(
      detailsOf(['graph.nodes.0.propId', 'the service has no property named "Humidity"; an id is 8192 or "0x2000"']),
    )
    await admin.delete(pathOf(await made('/alarms', alarmBody({ serviceIdentifier: 'later' }))))
  })

  test('are found only by callers that may read them', async () => {
    await admin.putRole('narrow', grant({ alarms: ['create'], service: ['read'] }))
    const narrow = await admin.bringIn('narrow', ['narrow'])
    const answer = await narrow.post('/alarms', alarmBody({ serviceIdentifier: 'Room climate' }))
    expect(answerOf(answer)).toEqual(detailsOf(['serviceIdentifier', 'there is no service named "Room climate"']))
  })

  test('an Idempotency-Key repeats the answer after the name is gone', async () => {
    await admin.put('/schemas/brief', { name: 'Brief name', properties: properties('Level') })
    const headers = { 'idempotency-key': 'by-name' }
    const ask = () =>
      admin.ask('/alarms', { method: 'POST', body: alarmBody({ serviceIdentifier: 'Brief name' }), headers })
    const first = await ask()
    expect(first.status).toBe(201)
    await admin.delete('/schemas/brief')
    expect(answerOf(await ask())).toEqual(answerOf(first))
  })
})
