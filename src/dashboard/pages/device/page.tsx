import '#dashboard/pages/device/device.css'
import { useState } from 'preact/hooks'
import { firstMessage } from '#dashboard/commands'
import { ActiveAlarms } from '#dashboard/pages/device/active-alarms'
import { DeviceActions } from '#dashboard/pages/device/device-actions'
import { Firmware } from '#dashboard/pages/device/firmware'
import { MetaSection } from '#dashboard/pages/device/meta-section'
import { ServiceSection } from '#dashboard/pages/device/service-section'
import { useDevice } from '#dashboard/pages/device/use-device'
import { useHistory } from '#dashboard/pages/device/use-history'
import { Command, Empty, NotRead } from '#dashboard/parts/empty'
import { Link } from '#dashboard/parts/link'
import { Page, Section } from '#dashboard/parts/page'
import { Status } from '#dashboard/parts/status'
import { Time } from '#dashboard/parts/time'
import { useObservable } from '#dashboard/parts/use-observable'
import type { PageProps } from '#dashboard/routes'
import { mayI } from '#dashboard/session'
import { state } from '#dashboard/state'
import { lastHeard } from '#dashboard/values/last-heard'

/** One device, live: what it says, and what it can be asked to do. */
export default function DevicePage({ params }: PageProps) {
  const identifier = (params.id ?? '').toUpperCase()
  const { schemas, connection } = state()
  useObservable(schemas)
  const device = useDevice(identifier)
  const history = useHistory(device)
  const connected = useObservable(connection).state
  const [isGone, setGone] = useState(false)

  if (!device) {
    const isKnown = connected === 'live' || isGone
    return (
      <Page title={identifier}>
        {isKnown ? <NoDevice isGone={isGone} /> : connected === 'closed' ? <NotRead /> : <Reading />}
      </Page>
    )
  }
  const services = [...device.services]
  return (
    <Page
      title={identifier}
      beside={device.status && <Status state={device.status} />}
      actions={<DeviceActions identifier={identifier} onDeleted={() => setGone(true)} />}
    >
      <ActiveAlarms identifier={identifier} />
      <div class="device">
        <div class="device-services">
          {services.length === 0 && <NoServices identifier={identifier} />}
          {services.map(([serviceIdentifier, service]) => (
            <ServiceSection
              key={serviceIdentifier}
              deviceIdentifier={identifier}
              serviceIdentifier={serviceIdentifier}
              service={service}
              schema={schemas.get(serviceIdentifier)}
              history={history}
              isLinked={device.status !== 'offline'}
            />
          ))}
        </div>
        <div class="device-beside">
          {device.status && (
            <Section title="Link">
              <dl class="facts">
                <dt>Last message</dt>
                <dd>
                  <Time at={lastHeard(device)} />
                </dd>
                <dt>Last connect</dt>
                <dd>
                  <Time at={device.lastConnect} />
                </dd>
                <dt>Connects</dt>
                <dd class="number" title="Since the server started">
                  {device.numConnects}
                </dd>
              </dl>
            </Section>
          )}
          {mayI('updates', 'read', { deviceIdentifier: identifier }) && <Firmware identifier={identifier} />}
          {mayI('meta', 'read', { deviceIdentifier: identifier }) && (
            <MetaSection identifier={identifier} meta={device.meta} />
          )}
        </div>
      </div>
    </Page>
  )
}

function NoDevice({ isGone }: { readonly isGone: boolean }) {
  return (
    <Empty title={isGone ? 'The device was deleted' : 'There is no such device'}>
      <p>
        {isGone ? 'Should it link again, it is a new one.' : 'Or it lies outside of what your roles let you see.'} Back
        to the <Link to="/">fleet</Link>.
      </p>
    </Empty>
  )
}

function Reading() {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> Reading the device…
    </p>
  )
}

function NoServices({ identifier }: { readonly identifier: string }) {
  return (
    <Section title="Services">
      <Empty title="It has said nothing yet">
        <p>A device declares its services with its first message. By hand, with its secret:</p>
        <Command command={firstMessage(identifier)} />
      </Empty>
    </Section>
  )
}
