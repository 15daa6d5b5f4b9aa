import type { ComponentChildren } from 'preact'
import { Empty } from '#dashboard/components/empty-state'
import { navigateTo, pathOf } from '#dashboard/components/link'
import { Page } from '#dashboard/components/page'
import { Tabs } from '#dashboard/components/tabs'
import { Audit } from '#dashboard/pages/administration/audit'
import { ApiKeys, ProvisioningKeys } from '#dashboard/pages/administration/keys'
import { Roles } from '#dashboard/pages/administration/roles'
import { Sessions } from '#dashboard/pages/administration/sessions'
import { SigningKeys } from '#dashboard/pages/administration/signing-keys'
import { mayTenants, selectedTenant, TenantChoice } from '#dashboard/pages/administration/tenant-choice'
import { Tenants } from '#dashboard/pages/administration/tenants'
import { Users } from '#dashboard/pages/administration/users'
import type { PageProps } from '#dashboard/routes'
import { mayUser, session } from '#dashboard/session'
import '#dashboard/pages/administration/administration.css'
import { useObservable } from '#dashboard/components/use-observable'

/** Users, roles, tenants, keys and sessions. Contract 2. */

interface Tab {
  readonly id: string
  readonly title: string
  readonly isVisible: () => boolean
  /** Whether the tab shows one tenant, which may be another one than the user's. */
  readonly isOfTenant: boolean
  readonly content: () => ComponentChildren
}

const tabs: readonly Tab[] = [
  {
    id: 'users',
    title: 'Users',
    isVisible: () => mayUser('users', 'read'),
    isOfTenant: true,
    content: () => <Users />,
  },
  {
    id: 'roles',
    title: 'Roles',
    isVisible: () => mayUser('roles', 'read'),
    isOfTenant: true,
    content: () => <Roles />,
  },
  {
    id: 'tenants',
    title: 'Tenants',
    isVisible: () => mayTenants('read'),
    isOfTenant: false,
    content: () => (
      <>
        <Tenants />
        <SigningKeys />
      </>
    ),
  },
  {
    id: 'keys',
    title: 'Keys',
    isVisible: () => mayUser('device', 'read') || mayUser('users', 'read'),
    isOfTenant: true,
    content: () => (
      <>
        {mayUser('device', 'read') && <ProvisioningKeys />}
        {mayUser('users', 'read') && <ApiKeys />}
      </>
    ),
  },
  {
    id: 'sessions',
    title: 'Sessions',
    isVisible: () => mayUser('users', 'read'),
    isOfTenant: true,
    content: () => <Sessions />,
  },
  {
    id: 'audit',
    title: 'Audit',
    isVisible: () => mayUser('audit', 'read'),
    isOfTenant: false,
    content: () => <Audit />,
  },
]

export default function AdministrationPage({ params }: PageProps) {
  const tenant = useObservable(selectedTenant)
  if (session.value.state === 'IAM off') return <AuthenticationOff />
  const visible = tabs.filter(({ isVisible }) => isVisible())
  const tab = visible.find(({ id }) => id === params.tab) ?? visible[0]
  if (!tab) {
    return (
      <Page title="Administration">
        <Empty title="Your roles do not permit this page">
          Ask an administrator of this tenant for a role that does.
        </Empty>
      </Page>
    )
  }
  const select = (id: string) => navigateTo(pathOf('administration', id), { replace: true })
  return (
    <Page title="Administration" actions={tab.isOfTenant && mayTenants('read') && <TenantChoice />}>
      <Tabs label="Administration" tabs={visible} selected={tab.id} onSelect={select}>
        {/* A new key for another tenant: no input for the previous tenant remains. */}
        <div class="administration-tab" key={`${tab.id} ${tenant ?? ''}`}>
          {tab.content()}
        </div>
      </Tabs>
    </Page>
  )
}

function AuthenticationOff() {
  return (
    <Page title="Administration">
      <Empty title="Authentication is off" command="IAM=on npm start">
        <p>
          This server runs with <code>IAM=off</code>: anyone who can reach it may do everything, and there are no users,
          roles or keys. Start it with authentication on; it prints the first administrator’s password once.
        </p>
      </Empty>
      <Audit />
    </Page>
  )
}
