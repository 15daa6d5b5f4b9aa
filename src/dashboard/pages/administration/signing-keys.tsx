import { ConfirmButton } from '#dashboard/components/dialog'
import { CallResult, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { Status } from '#dashboard/components/status'
import { Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { mayTenants } from '#dashboard/pages/administration/tenant-choice'
import { client } from '#dashboard/session'

/** The keys that sign tokens: replaced automatically after 90 days, or by hand. Contract 2, Tokens. */
export function SigningKeys() {
  const keys = useCall(() => client.call('GET /iam/signing-keys'), [])
  const rotate = async () => {
    const tooEarly = 'They were replaced less than a minute ago.'
    await withExplanation(client.call('POST /iam/signing-keys'), { 409: tooEarly })
    notify('Tokens are signed with a new key from now on')
    keys.refresh()
  }
  return (
    <Section
      title="Signing keys"
      actions={
        mayTenants('create') && (
          <ConfirmButton
            button="Replace the signing key"
            title="Replace the signing key?"
            confirm="Replace"
            kind="primary"
            onConfirm={rotate}
          >
            <p>
              Tokens of all tenants are signed with a new key from now on. The previous key stays valid until its last
              token has expired, so no user is signed out.
            </p>
          </ConfirmButton>
        )
      }
    >
      <CallResult call={keys}>
        {(list) => (
          <Table
            caption="List of signing keys"
            rows={list}
            rowKey={({ kid }) => kid}
            columns={[
              { key: 'kid', title: 'Key', cell: ({ kid }) => <code>{kid}</code> },
              {
                key: 'state',
                title: 'State',
                cell: ({ retiresAt }) =>
                  retiresAt === undefined ? (
                    <Status state="current">current</Status>
                  ) : (
                    <Status state="inactive">
                      still valid, retires <Time at={retiresAt} />
                    </Status>
                  ),
              },
              { key: 'created', title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
            ]}
          />
        )}
      </CallResult>
    </Section>
  )
}
