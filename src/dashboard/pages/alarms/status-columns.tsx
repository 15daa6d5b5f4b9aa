import { idOf } from '#dashboard/binding/binding'
import { nameOfDevice, useDevices } from '#dashboard/binding/known-names'
import { DialogButton } from '#dashboard/components/dialog'
import { TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link, pathOf } from '#dashboard/components/link'
import type { Column } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useCall } from '#dashboard/components/use-call'
import { client, mayUser } from '#dashboard/session'
import type { StatusRow } from '#dashboard/values/alarm-order'

/** The column with the link to a device, and its name. */
export const deviceColumn: Column<{ readonly deviceIdentifier: string }> = {
  title: 'Device',
  cell: ({ deviceIdentifier }) => <DeviceLink device={deviceIdentifier} />,
}

function DeviceLink({ device }: { readonly device: string }) {
  useDevices([device])
  return (
    <>
      <Link to={pathOf('devices', device)}>{device}</Link> <span class="soft">{nameOfDevice(device)}</span>
    </>
  )
}

/** The column with the user that acknowledged an alarm on a device, or with the button to acknowledge it. */
export function useAcknowledgedColumn(): Column<StatusRow> {
  const nameOf = usePrincipalNames()
  return {
    title: 'Acknowledged',
    cell: (row) => {
      const { acknowledged, active, deviceIdentifier } = row
      if (acknowledged) {
        return (
          <>
            {nameOf(acknowledged.by)}, <Time at={acknowledged.at} />
            {acknowledged.comment && `: ${acknowledged.comment}`}
          </>
        )
      }
      const label = `Acknowledge on ${deviceIdentifier}`
      return (
        active &&
        mayUser('alarms', 'update', { deviceIdentifier }) && (
          <DialogButton button="Acknowledge" label={label} title={label}>
            <AcknowledgeForm row={row} />
          </DialogButton>
        )
      )
    },
  }
}

function AcknowledgeForm({ row: { resourceIdentifier, deviceIdentifier } }: { readonly row: StatusRow }) {
  const comment = useField('')
  const parameters = { alarmId: idOf(resourceIdentifier), deviceIdentifier }
  const acknowledge = () => {
    const body = { comment: comment.value }
    return client.call('POST /alarms/:alarmId/status/:deviceIdentifier/acknowledge', { parameters, body })
  }
  return (
    <Form submit="Acknowledge" onSubmit={acknowledge}>
      <TextField label="Comment" {...comment} maxLength={500} hasFocus path="comment" />
    </Form>
  )
}

/**
 * A function that returns the name of a user or an API key; the id if it is not among the first thousand users, or if
 * the caller may not read users.
 */
export function usePrincipalNames(): (resourceIdentifier: string) => string {
  const { value = [] } = useCall(async () => {
    if (!mayUser('users', 'read')) return []
    const users = client.call('GET /iam/users', { query: { limit: '1000' } })
    return [...(await users), ...(await client.call('GET /iam/api-keys'))]
  }, [])
  return (by) => value.find(({ resourceIdentifier }) => resourceIdentifier === by)?.name ?? idOf(by)
}
