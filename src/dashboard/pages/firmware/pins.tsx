import { DeviceField } from '#dashboard/binding/binding-fields'
import { apiCommand } from '#dashboard/commands'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { ChoiceField, type TextFieldProps, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link, pathOf } from '#dashboard/components/link'
import { versionProblem } from '#dashboard/components/names'
import { Empty, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { Badge } from '#dashboard/components/status'
import { actionsColumn, PagedTable } from '#dashboard/components/table'
import { notify } from '#dashboard/components/toasts'
import { type ProjectData, versionsOf } from '#dashboard/pages/firmware/project-data'
import { client, mayUser } from '#dashboard/session'
import type { PinEntry } from '#model/release'

/** Devices that are pinned to a version. Contract 6. */
export function Pins({ project, releases, pins }: ProjectData) {
  const versions = versionsOf(releases.value)
  const mayPin = mayUser('updates', 'create') || mayUser('updates', 'update')
  const remove = ({ deviceIdentifier }: PinEntry) => {
    const parameters = { project, deviceIdentifier }
    return client.call('DELETE /updates/projects/:project/pins/:deviceIdentifier', { parameters })
  }
  return (
    <Section
      title="Pins"
      actions={
        mayPin && (
          <DialogButton button="Pin device" title="Pin device">
            <PinForm {...{ project, releases, pins }} />
          </DialogButton>
        )
      }
    >
      <PagedTable
        caption="List of pins"
        paged={pins}
        rowKey={({ deviceIdentifier }) => deviceIdentifier}
        empty={
          <Empty
            title="No pins"
            command={
              mayPin
                ? apiCommand('-X PUT', `/updates/projects/${project}/pins/PUMP-7`, { firmware: versions[0] ?? '1.0.0' })
                : undefined
            }
          >
            A pin holds a device at one version, newer or older than its current one, regardless of the rollout.
          </Empty>
        }
        columns={[
          {
            title: 'Device',
            cell: ({ deviceIdentifier }) => <Link to={pathOf('devices', deviceIdentifier)}>{deviceIdentifier}</Link>,
          },
          {
            title: 'Version',
            cell: ({ firmware }) => (
              <>
                <code>{firmware}</code>{' '}
                {releases.value && !versions.includes(firmware) && <Badge tone="warning">no such release</Badge>}
              </>
            ),
          },
          actionsColumn(
            (pin: PinEntry) =>
              mayUser('updates', 'delete', pin) && (
                <ConfirmButton
                  button="Remove"
                  buttonKind="quiet"
                  label={`Remove the pin of ${pin.deviceIdentifier}`}
                  confirm="Remove pin"
                  onConfirm={() => remove(pin)}
                  done={`${pin.deviceIdentifier} is no longer pinned`}
                  onDone={pins.refresh}
                >
                  <p>
                    {pin.deviceIdentifier} is no longer pinned to {pin.firmware}. It is offered the version of the
                    rollout, or the newest release if there is no rollout.
                  </p>
                </ConfirmButton>
              ),
          ),
        ]}
      />
    </Section>
  )
}

function PinForm({ project, releases, pins }: Pick<ProjectData, 'project' | 'releases' | 'pins'>) {
  const versions = versionsOf(releases.value)
  const device = useField('')
  const version = useField(versions[0] ?? '')
  const { value: firmware } = version
  const deviceIdentifier = device.value.trim()
  const where = { deviceIdentifier: deviceIdentifier.toUpperCase() }
  const isForbidden =
    deviceIdentifier !== '' && !mayUser('updates', 'create', where) && !mayUser('updates', 'update', where)
  const pin = async () => {
    const place = { parameters: { project, deviceIdentifier } }
    const call = client.call('PUT /updates/projects/:project/pins/:deviceIdentifier', { ...place, body: { firmware } })
    await withExplanation(call, {
      404: `${deviceIdentifier} is not a device identifier, or you may not update the device.`,
    })
    notify(`${where.deviceIdentifier} is pinned to ${firmware}`)
    pins.refresh()
  }
  return (
    <Form
      label="Pin device"
      submit="Pin"
      onSubmit={pin}
      isDisabled={deviceIdentifier === '' || firmware === '' || versionProblem(firmware) !== undefined || isForbidden}
    >
      <DeviceField
        hint="The device need not exist yet."
        problem={isForbidden ? 'You may not update this device.' : undefined}
        {...device}
      />
      <VersionField
        hint="An older version than the current one downgrades the device."
        versions={versions}
        {...version}
      />
    </Form>
  )
}

interface VersionFieldProps extends Pick<TextFieldProps, 'hint' | 'value' | 'onChange'> {
  readonly versions: readonly string[]
}

/** A version with a release, or another version, which may get its release later. */
export function VersionField({ versions, ...field }: VersionFieldProps) {
  return (
    <ChoiceField
      {...field}
      label="Version"
      options={versions.map((version) => ({ value: version, label: version }))}
      other={{ label: 'Other version', placeholder: '1.2.3', problem: versionProblem(field.value) }}
      isRequired
    />
  )
}
