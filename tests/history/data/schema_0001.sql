BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE benchmarks (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	title TEXT NOT NULL, 
	label TEXT NOT NULL, 
	auto TEXT NOT NULL, 
	tags TEXT NOT NULL, 
	task TEXT NOT NULL, 
	CONSTRAINT pk_benchmarks PRIMARY KEY (id), 
	CONSTRAINT uq_benchmarks_key UNIQUE ("key")
);
INSERT INTO "benchmarks" VALUES(1,'id-work','toy › work','["toy", "work"]','{"runtime": "explicit", "autograd": "explicit", "language": "python", "num_threads": 1, "device": "cpu"}','[]','{"stmt": "toy.work()", "setup": "import toy", "label": "toy", "sub_label": "work"}');
CREATE TABLE commits (
	id INTEGER NOT NULL, 
	sha TEXT NOT NULL, 
	committed_at BIGINT NOT NULL, 
	authored_at BIGINT NOT NULL, 
	generation INTEGER NOT NULL, 
	parents TEXT NOT NULL, 
	author TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	CONSTRAINT pk_commits PRIMARY KEY (id), 
	CONSTRAINT uq_commits_sha UNIQUE (sha)
);
INSERT INTO "commits" VALUES(1,'0000000000000000000000000000000000000000',1700000000,1700000000,1,'','Ada','commit 0');
CREATE TABLE comparisons (
	result_id BIGINT NOT NULL, 
	run_id INTEGER NOT NULL, 
	benchmark_id INTEGER NOT NULL, 
	verdict TEXT NOT NULL, 
	ratio FLOAT NOT NULL, 
	low FLOAT, 
	high FLOAT, 
	cause TEXT NOT NULL, 
	CONSTRAINT pk_comparisons PRIMARY KEY (result_id), 
	CONSTRAINT fk_comparisons_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id), 
	CONSTRAINT fk_comparisons_benchmark_id_benchmarks FOREIGN KEY(benchmark_id) REFERENCES benchmarks (id)
);
CREATE TABLE contents (
	digest BLOB NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_contents PRIMARY KEY (digest)
);
INSERT INTO "contents" VALUES(X'2861EC822B1B31AD33665B759A2EC54E',X'7801458F3D4E03311085C54D524241D27315842CAF3D4946F17A2CCF1848DA2068498E4076F38702828A9E8682DC819A536007098A91DE7B7A9AF9E6AE19A1B7AFE859623282E495A1E48537A279A43880B969586AD90A8DBB571447C7272D83A4B0C53A50944ECE5BA72B708BAC369C2A75704DE93EF954571055C81393B7AB0801B4F06CDA0A8976FBEEF70B2561B4A0B47364B450DC77BF9EFF8C3259F2E7C74E28A87EF207449ECD73E9AD1099B372A773DE7358F54AC074B1EB479A80CF1CE3BCFCBDA568214E1FD0AED09E96FA2FEFBC001F301B9D846E579950B086355C078706655DE241D4F63F71DA0F921EC0328C6548FE31FFA76418415B3E5A5AB844030B1352CB3801BEFF0184309D25');
INSERT INTO "contents" VALUES(X'971826B05C6C56B65BB522A8723664BC',X'7801458F3D4A0441108511EF200606866BA03710AF20460662D3335DCCB433FD4355B5EB8A993F99209E40DC99D99D5D30D0C4D0605313EF2018A8E80D9C9EC40705F5BE7AC1ABCBAAD056CD0D480A08062C3FD8601240E1BBC1605F973F5A9443C1DA002D06F6F1ECEEFDE06B6FF1F2BBB6FD7CFDB4DF1CFEACBE7DAE7C439E6447BB513B512D4B2A0479482F2A62C33376A3ADA1C362B0511370F0336DBC435EEF785DCA04CA71B7B51412D1BB2A666B870AF0FC5EAB89569B3DE98FB731DB272A19D85D4DBA9EB1DF144E7CA953CDD3883394EA9F94D2664166D0F811E7CECEBB2F05E70852D152A3E058A7304E7DA8499F02DDFC01374B7F02');
CREATE TABLE environments (
	id INTEGER NOT NULL, 
	fingerprint TEXT NOT NULL, 
	name TEXT NOT NULL, 
	facts TEXT NOT NULL, 
	CONSTRAINT pk_environments PRIMARY KEY (id), 
	CONSTRAINT uq_environments_fingerprint UNIQUE (fingerprint)
);
INSERT INTO "environments" VALUES(1,'4c71a276f3105f9a','Python 3.11, torch 2.13.0','{"python": "3.11", "torch": "2.13.0"}');
CREATE TABLE machines (
	id INTEGER NOT NULL, 
	fingerprint TEXT NOT NULL, 
	name TEXT NOT NULL, 
	facts TEXT NOT NULL, 
	CONSTRAINT pk_machines PRIMARY KEY (id), 
	CONSTRAINT uq_machines_fingerprint UNIQUE (fingerprint)
);
INSERT INTO "machines" VALUES(1,'5797480e2ecc37fa','Quick 9000, 8 cores, 16 GiB','{"cpu_model": "Quick 9000", "logical_cores": 8, "memory_gib": 16}');
CREATE TABLE metrics (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	is_exact BOOLEAN NOT NULL, 
	CONSTRAINT pk_metrics PRIMARY KEY (id), 
	CONSTRAINT uq_metrics_name UNIQUE (name)
);
INSERT INTO "metrics" VALUES(1,'time','s',0);
INSERT INTO "metrics" VALUES(2,'undisturbed_time','s',0);
INSERT INTO "metrics" VALUES(3,'instructions','instructions',1);
INSERT INTO "metrics" VALUES(4,'all_instructions','instructions',1);
INSERT INTO "metrics" VALUES(5,'allocator_calls','calls',1);
CREATE TABLE points (
	benchmark_id INTEGER NOT NULL, 
	metric_id SMALLINT NOT NULL, 
	run_id INTEGER NOT NULL, 
	result_id BIGINT NOT NULL, 
	value FLOAT NOT NULL, 
	low FLOAT NOT NULL, 
	high FLOAT NOT NULL, 
	CONSTRAINT pk_points PRIMARY KEY (benchmark_id, metric_id, run_id, result_id), 
	CONSTRAINT fk_points_benchmark_id_benchmarks FOREIGN KEY(benchmark_id) REFERENCES benchmarks (id), 
	CONSTRAINT fk_points_metric_id_metrics FOREIGN KEY(metric_id) REFERENCES metrics (id), 
	CONSTRAINT fk_points_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id)
)
 WITHOUT ROWID

;
INSERT INTO "points" VALUES(1,1,1,6385327766586140815,1.00114044733982253474e-06,1.00014791765548537335e-06,1.00205739928687613852e-06);
INSERT INTO "points" VALUES(1,2,1,6385327766586140815,1.00035506373697195121e-06,1.00014791765548537335e-06,1.00114044733982253474e-06);
INSERT INTO "points" VALUES(1,3,1,2298031841564363058,120.0,120.0,120.0);
INSERT INTO "points" VALUES(1,4,1,2298031841564363058,120.1,120.1,120.1);
INSERT INTO "points" VALUES(1,5,1,2298031841564363058,2.0,2.0,2.0);
CREATE TABLE projects (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	CONSTRAINT pk_projects PRIMARY KEY (id), 
	CONSTRAINT uq_projects_name UNIQUE (name)
);
INSERT INTO "projects" VALUES(1,'toys');
CREATE TABLE results (
	id BIGINT NOT NULL, 
	run_id INTEGER NOT NULL, 
	benchmark_id INTEGER, 
	number INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	digest BLOB NOT NULL, 
	CONSTRAINT pk_results PRIMARY KEY (id), 
	CONSTRAINT fk_results_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id), 
	CONSTRAINT fk_results_benchmark_id_benchmarks FOREIGN KEY(benchmark_id) REFERENCES benchmarks (id), 
	CONSTRAINT fk_results_digest_contents FOREIGN KEY(digest) REFERENCES contents (digest)
);
INSERT INTO "results" VALUES(6385327766586140815,1,1,1,'measurement',X'971826B05C6C56B65BB522A8723664BC');
INSERT INTO "results" VALUES(2298031841564363058,1,1,2,'instruction_counts',X'2861EC822B1B31AD33665B759A2EC54E');
CREATE TABLE runs (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	project_id INTEGER NOT NULL, 
	commit_id INTEGER, 
	base_commit_id INTEGER, 
	branch TEXT NOT NULL, 
	is_dirty BOOLEAN NOT NULL, 
	machine_id INTEGER NOT NULL, 
	environment_id INTEGER NOT NULL, 
	suite_id INTEGER NOT NULL, 
	started_at BIGINT NOT NULL, 
	is_complete BOOLEAN NOT NULL, 
	source TEXT NOT NULL, 
	header TEXT NOT NULL, 
	CONSTRAINT pk_runs PRIMARY KEY (id), 
	CONSTRAINT uq_runs_key UNIQUE ("key"), 
	CONSTRAINT fk_runs_project_id_projects FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT fk_runs_commit_id_commits FOREIGN KEY(commit_id) REFERENCES commits (id), 
	CONSTRAINT fk_runs_base_commit_id_commits FOREIGN KEY(base_commit_id) REFERENCES commits (id), 
	CONSTRAINT fk_runs_machine_id_machines FOREIGN KEY(machine_id) REFERENCES machines (id), 
	CONSTRAINT fk_runs_environment_id_environments FOREIGN KEY(environment_id) REFERENCES environments (id), 
	CONSTRAINT fk_runs_suite_id_suites FOREIGN KEY(suite_id) REFERENCES suites (id)
);
INSERT INTO "runs" VALUES(1,'run-1','run',1,1,NULL,'main',0,1,1,1,1767323045,1,'results.json','{"format": "photometer-results", "version": 1, "machine": {"cpu_model": "Quick 9000", "logical_cores": 8, "memory_bytes": 17179869184, "python": "3.11.2 (CPython)", "torch": {"version": "2.13.0"}, "date": "2026-01-02T03:04:05+00:00"}, "run": {"id": "run-1", "suite": "toy", "fingerprint": "ffffffffffffffff"}}');
CREATE TABLE store_facts (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_store_facts PRIMARY KEY (name)
);
INSERT INTO "store_facts" VALUES('written by','0.1.0');
CREATE TABLE suites (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	CONSTRAINT pk_suites PRIMARY KEY (id), 
	CONSTRAINT uq_suites_name_fingerprint UNIQUE (name, fingerprint)
);
INSERT INTO "suites" VALUES(1,'toy','ffffffffffffffff');
CREATE INDEX ix_runs_project_id_runs_commit_id ON runs (project_id, commit_id);
CREATE INDEX ix_runs_commit_id ON runs (commit_id);
CREATE INDEX ix_results_run_id ON results (run_id);
CREATE INDEX ix_results_digest ON results (digest);
CREATE INDEX ix_points_run_id ON points (run_id);
CREATE INDEX ix_comparisons_run_id ON comparisons (run_id);
CREATE INDEX ix_comparisons_benchmark_id ON comparisons (benchmark_id);
COMMIT;
