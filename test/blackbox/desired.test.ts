import { expect, test } from 'vitest'
import { above, alarmBody, idOf, type StatusRow } from '#test/blackbox/alarm-calls'
import { type Fields, LinkClient } from '#test/blackbox/link-client'
import { climate, degrees, sensor, temperature } from '#test/blackbox/sensor'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** Desired values and acknowledgements survive the death of the process. Contract 12. */
test('after a kill, a desired value is sent again under its id, and an acknowledgement still holds', async () => {
  const server = await StartedServer.start()
  try {
    let link = await LinkClient.open(server, 'json')
    const { flakeAddress } = await link.hello('D', sensor, { session: 'boot' })
    await link.report(flakeAddress, 1, climate, [degrees(40)])
    const body = alarmBody({ condition: above(30) })
    const alarm = (await server.ask('/alarms', { method: 'POST', body })).json
    const rows = async () => (await server.get('/alarms/status')).json as StatusRow[]
    await until(async () => (await rows()).length === 1, 'the alarm')
    const acknowledge = `/alarms/${idOf(alarm as never)}/status/D/acknowledge`
    await server.ask(acknowledge, { method: 'POST', body: { comment: 'seen' } })
    const path = `/devices/D/services/${climate}/desired`
    const propId = temperature
    await server.ask(path, { method: 'PUT', body: { [propId]: 21 } })
    const sent = (await link.take({ type: 'WRITE' })) as Fields
    await server.kill()
    await server.startAgain()
    const desired = async () => (await server.get(path)).json
    const value = { value: 21, since: expect.any(Number), status: expect.stringMatching(/^(PENDING|SENT)$/) }
    expect(await desired()).toEqual({ [propId]: value })
    expect(await rows()).toMatchObject([{ active: true, acknowledged: { comment: 'seen' } }])
    const past = (await server.get('/alarms/history')).json as Fields[]
    expect(past.map(({ type }) => type)).toEqual(['ACKNOWLEDGED', 'ACTIVE'])
    link = await LinkClient.open(server, 'json')
    await link.hello('D', sensor, { session: 'boot' })
    expect(await link.take({ type: 'WRITE' })).toEqual(sent)
    link.send({ type: 'RESULT', flakeAddress, id: sent.id, results: [{ propId, status: 'OK' }] })
    await until(async () => Object.keys((await desired()) as object).length === 0, 'the answer')
  } finally {
    await server.finish()
  }
})
